/* Opens pages of the report in a headless Chromium and prints what it finds, as JSON: node browser.js FILE SHOTS.
   Needs playwright-core and axe-core beside it or in NODE_PATH, and CHROMIUM. */
const {chromium} = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");
const [, , file, shots] = process.argv;
const LOOKS = {
  light: {colorScheme: "light", viewport: {width: 1280, height: 900}, timezoneId: "UTC"},
  dark: {colorScheme: "dark", viewport: {width: 1280, height: 900}, timezoneId: "Asia/Kolkata"},
  phone: {colorScheme: "light", viewport: {width: 390, height: 844}, deviceScaleFactor: 2, isMobile: true, timezoneId: "America/New_York"},
};

async function timed(page, action) {
  return page.evaluate(async (source) => {
    const table = document.getElementById("c0-table-groups"), input = table.querySelector("input"), headings = table.querySelectorAll("thead button");
    const begun = performance.now();
    if (source === "filter") { input.value = "a1"; input.dispatchEvent(new Event("input")); }
    else if (source === "clear") { input.value = ""; input.dispatchEvent(new Event("input")); }
    else headings[Number(source)].click();
    document.body.offsetHeight;
    return performance.now() - begun;
  }, action);
}

(async () => {
  const found = {console: [], requests: [], axe: {}, times: {}};
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"]});
  for (const [look, options] of Object.entries(LOOKS)) {
    const context = await browser.newContext({...options, locale: "en-GB", bypassCSP: false});
    const page = await context.newPage();
    page.on("console", (message) => found.console.push(message.text()));
    page.on("pageerror", (error) => found.console.push(error.message));
    page.on("dialog", (dialog) => { found.console.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => { if (request.url() !== `file://${file}`) found.requests.push(request.url()); });
    const before = await (await browser.newContext({javaScriptEnabled: false})).newPage();
    await before.goto(`file://${file}`);
    const cells = (of) => of.$$eval("#c0-table-groups tbody tr", (rows) => rows.slice(0, 50).map((row) => [...row.cells].map((cell) => cell.innerText.trim())));
    await page.goto(`file://${file}`);
    await page.waitForFunction(() => document.querySelectorAll(".table").length === document.querySelectorAll(".table thead:has(button)").length);
    if (look === "light") {
      found.without = await cells(before);
      found.with = await cells(page);
      found.wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      for (const action of ["filter", "clear", "2", "2", "0", "3"]) found.times[`${action}${found.times[action] ? " again" : ""}`] = await timed(page, action);
      found.sorted = await page.$eval("#c0-table-groups thead th:nth-child(4)", (heading) => heading.getAttribute("aria-sort"));
      await page.reload();
      await page.waitForSelector(".spark");
      await page.locator(".spark").first().focus();
      await page.keyboard.press("Enter");
      found.dialog = await page.$eval("dialog", (dialog) => dialog.open && dialog.querySelectorAll(".plot").length);
      await page.locator("dialog .plot").first().focus();
      await page.keyboard.press("ArrowLeft");
      found.readout = await page.locator("dialog .readout").first().innerText().catch(() => "");
      await page.screenshot({path: `${shots}-dialog.png`});
      await page.keyboard.press("Escape");
      const folded = () => page.$$eval("section > details:not([open])", (details) => details.length);
      found.folded = [await folded()];
      await page.locator(".tiles a").last().focus();
      await page.keyboard.press("Enter");
      found.folded.push(await folded());
      await page.locator(".unfold").first().click();
      found.folded.push(await page.$$eval("#c0 > section > details:not([open])", (details) => details.length));
    }
    if (look === "phone") found.more = await page.$eval("#c0-table-groups .more", (more) => (more.hidden ? "" : more.textContent));
    if (look === "phone") found.phoneWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
    await page.screenshot({path: `${shots}-${look}.png`, fullPage: true});
    await page.screenshot({path: `${shots}-${look}-top.png`});
    const checked = await (await browser.newContext({...options, bypassCSP: true})).newPage();
    await checked.goto(`file://${file}`);
    await checked.waitForTimeout(300);
    await checked.addScriptTag({path: axe});
    const {violations} = await checked.evaluate(() => axe.run());
    found.axe[look] = violations.map((one) => `${one.impact} ${one.id}: ${one.nodes.length}: ${one.nodes[0].html.slice(0, 160)} ${one.nodes[0].failureSummary}`);
  }
  await browser.close();
  console.log(JSON.stringify(found));
})();
