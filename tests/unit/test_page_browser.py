"""The pages in headless Chromium, by selenium."""

import shutil

import pytest
from own_release import release_request
from page_of_a_study import make_leaderboard_page

from privcurve.releases.release import release
from privcurve.releases.released import PAGE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="needs Chromium: apt-get install chromium chromium-driver"
    ),
]
PHONE, DESK, SHEET = (390, 844), (1280, 1000), (794, 1123)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return make_leaderboard_page(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def dots(tmp_path_factory):
    return make_leaderboard_page(tmp_path_factory.mktemp("dots"), epsilons=[1])


@pytest.fixture(scope="module")
def driver():
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    # In a container, root has no sandbox and little shared memory.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def see(driver, path, size=DESK, media="", dark=False):
    """Open a page, and return the errors in the browser's log."""
    width, height = size
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE},
    )
    features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    driver.get(path.as_uri())
    return driver.get_log("browser")


def test_it_opens_without_complaint_and_asks_for_no_other_file(driver, page):
    assert see(driver, page) == []
    script = "return performance.getEntriesByType('resource').map(one => one.name)"
    assert driver.execute_script(script) == []


# Return elements that extend beyond the window and do not scroll.
CUT = """
document.querySelectorAll("details").forEach((one) => { one.open = true; });
return [...document.querySelectorAll("body *")].filter((one) => {
  const box = one.getBoundingClientRect();
  const scrolls = one.closest(".wide, svg");
  return !scrolls && box.width && (box.right > innerWidth + 1 || box.left < -1);
}).map((one) => one.outerHTML.slice(0, 80));
"""
# Return texts of a figure that overlap, or extend beyond the figure.
ON_EACH_OTHER = """
return [...document.querySelectorAll("figure")].flatMap((figure) => {
  const whole = figure.getBoundingClientRect();
  const boxes = [...figure.querySelectorAll(".name, .x, .y, .row b, .row > span, .below, .title")]
    .map((one) => [one.textContent, one.getBoundingClientRect()]);
  const meet = ([, a], [, b]) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  const beyond = boxes.filter(([, box]) =>
    box.right > whole.right + 1 || box.left < whole.left - 1);
  return [...beyond.map(([text]) => text),
    ...boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => meet(a, b))
      .map((b) => a[0] + " | " + b[0]))];
});
"""


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_nothing_is_cut_and_no_names_overlap(driver, page, dots, size):
    for path in (page, dots):
        see(driver, path, size)
        assert driver.execute_script("return innerWidth") == size[0]
        assert driver.execute_script(ON_EACH_OTHER) == []
        assert driver.execute_script(CUT) == []


def test_a_link_leads_to_its_dataset(driver, page):
    see(driver, page)
    (_, link) = driver.find_elements("css selector", "nav a")
    link.click()
    target = driver.find_element("css selector", ":target")
    assert target.text == link.text == "Toy line, fine"


def test_a_name_is_next_to_the_end_of_its_curve(driver, page):
    see(driver, page)
    ends = """
    const figure = document.querySelector(".curves");
    return [...figure.querySelectorAll(".name[class*=' c']")].map((name) => {
      const kind = [...name.classList].find((one) => /^c\\d$/.test(one));
      const dots = [...figure.querySelectorAll(`.dot.${kind}`)];
      const boxes = dots.map((one) => one.getBoundingClientRect());
      const last = boxes.reduce((a, b) => (a.left > b.left ? a : b));
      const box = name.getBoundingClientRect();
      const middle = (one) => one.top + one.height / 2;
      return [box.left - last.right, Math.abs(middle(box) - middle(last))];
    });
    """
    places = driver.execute_script(ends)
    assert places
    assert all(0 < right < 90 and aside < 90 for right, aside in places)


def test_dark_mode_has_its_own_colours_and_print_does_not(driver, page):
    look = """
    const dot = document.querySelector(".dot:not(.other)");
    return [getComputedStyle(document.body).backgroundColor, getComputedStyle(dot).backgroundColor];
    """
    looks = []
    for media, dark in (("", False), ("", True), ("print", True)):
        assert see(driver, page, media=media, dark=dark) == []
        looks.append(driver.execute_script(look))
    light, dark, paper = looks
    assert dark[0] == "rgb(22, 24, 27)"
    assert dark[1] != light[1]
    assert paper == light


def test_folded_details_are_printed(driver, page):
    see(driver, page)
    ledger = driver.find_elements("css selector", "details td")[-1]
    assert not ledger.is_displayed()
    see(driver, page, SHEET, media="print")
    hidden = "return [...document.querySelectorAll('details *')].filter((one) => "
    hidden += (
        "!one.closest('svg') && !one.getBoundingClientRect().height).map(one => one.outerHTML)"
    )
    assert [one for one in driver.execute_script(hidden) if not one.startswith("<i ")] == []


def test_details_are_reached_with_the_tab_key(driver, page):
    see(driver, page)
    body = driver.find_element("css selector", "body")
    reached = set()
    for _ in range(60):
        driver.switch_to.active_element.send_keys("\ue004")
        now = driver.switch_to.active_element
        if now == body:
            break
        reached.add(now.id)
        assert now.accessible_name
    summaries = driver.find_elements("css selector", "summary, nav a")
    assert {one.id for one in summaries} <= reached


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_a_card_is_no_wider_than_the_page(driver, write_private_dataset, size):
    card = release(release_request(learner="privgam")).path(PAGE).resolve()
    assert see(driver, card, size) == []
    (*_, folded) = driver.find_elements("css selector", "details")
    table = folded.find_element("css selector", "table")
    assert not table.is_displayed()
    folded.find_element("css selector", "summary").click()
    assert table.is_displayed()
    assert driver.execute_script("return document.documentElement.scrollWidth") <= size[0]
    assert driver.execute_script(CUT) == []
    # The first column is wide enough for its words.
    cells = "return [...document.querySelectorAll('td:first-child')].map(one => one.scrollWidth)"
    assert min(driver.execute_script(cells)) > 40
