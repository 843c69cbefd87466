/* Takes a picture of a page's first screen as it is seen at a time: node first_screen.js FILE PNG MILLISECONDS.
   Needs what tests/report/browser.js needs. */
const {chromium} = require("playwright-core");
const [, , file, picture, now] = process.argv;

(async () => {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"]});
  const page = await (await browser.newContext({colorScheme: "light", viewport: {width: 1280, height: 860}, timezoneId: "UTC"})).newPage();
  await page.clock.setFixedTime(Number(now));
  await page.goto(`file://${file}`);
  await page.waitForSelector("thead button");
  await page.screenshot({path: picture});
  await browser.close();
})();
