/* Prints the rows of a page's first table without its script and with it, as JSON: node rows.js FILE. Needs what browser.js needs. */
const {chromium} = require("playwright-core");

(async () => {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"]});
  const seen = [];
  for (const javaScriptEnabled of [false, true]) {
    const page = await (await browser.newContext({javaScriptEnabled, timezoneId: "UTC"})).newPage();
    await page.goto(`file://${process.argv[2]}`);
    if (javaScriptEnabled) await page.waitForSelector("thead button");
    seen.push(await page.$$eval("tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))));
  }
  await browser.close();
  console.log(JSON.stringify(seen));
})();
