"""Accessibility findings of a page: those of axe, and elements that the keyboard cannot reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from playwright.sync_api import Page, expect

from tests.browser.playground import Playground
from tests.browser.serving import REPOSITORY
from tests.browser.traffic import Traffic

AXE = REPOSITORY / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

COLORS = "cat.color"
"""The category of axe's rules on contrast, which do not depend on the width of the page."""

_RUN = """
async ([include, tags, category, without]) => {
  const own = axe.getRules(tags).filter((rule) =>
    (category === "" || rule.tags.includes(category))
    && ![without, "experimental"].some((tag) => rule.tags.includes(tag)));
  const runOnly = {type: "rule", values: own.map(({ruleId}) => ruleId)};
  const {violations} = await axe.run({include}, {runOnly, resultTypes: ["violations"]});
  // Readers see one step of a lesson at a time: landmarks of different steps may share a name.
  const stepOf = ({target}) => document.querySelector(target[0]).closest(".lesson-step");
  const isSeen = (id, node) => {
    if (id !== "landmark-unique") return true;
    const steps = [node, ...node.any.flatMap(({relatedNodes}) => relatedNodes)].map(stepOf);
    return steps.includes(null) || new Set(steps).size < steps.length;
  };
  return violations.flatMap(({id, help, nodes}) =>
    nodes.filter((node) => isSeen(id, node)).slice(0, 4).map(({target, failureSummary}) =>
      `${id}: ${help}: ${target.join(" ")}: ${failureSummary.split("\\n").slice(1).join(" ")}`));
}
"""

# Headings with the tabindex -1 take the focus from scripts only, to begin reading there.
_FOCUSABLE = """
void (window.focusables = (root) => [...root.querySelectorAll(
  "a[href], button, input, select, textarea, summary, canvas[tabindex], " +
  "[tabindex]:not(h1, h2, h3)"
)].filter((each) => !each.disabled && each.checkVisibility({visibilityProperty: true})
  && each.getClientRects().length > 0));
"""

_UNREACHABLE = """
(selector) => {
  const root = document.querySelector(selector);
  const focusable = focusables(root);
  const name = (each) => `${each.tagName} ${each.dataset.part ?? each.className} ` +
    `${(each.ariaLabel ?? each.textContent).trim().slice(0, 30)}`;
  // Of a list that arrow keys walk only one member is a stop of Tab.
  const lists = "[role=tablist], [role=radiogroup], [role=listbox], " +
    "[data-keys=arrows]:not([role=tabpanel])";
  const walked = (each) => {
    const list = each.parentElement.closest(lists);
    const stops = list === null ? [] : [list, ...focusables(list)];
    return stops.some((one) => one.tabIndex >= 0);
  };
  const pressed = [...root.querySelectorAll("*")].filter((each) =>
    getComputedStyle(each).cursor === "pointer" && each.checkVisibility()
    && getComputedStyle(each.parentElement).cursor !== "pointer");
  const answers = (each) =>
    focusable.some((one) => one.contains(each) || each.contains(one))
    || each.closest("label, [tabindex], [data-keys=arrows]") !== null;
  return [
    ...focusable.filter((each) => each.tabIndex < 0 && each.id !== "main" && !walked(each))
      .map((each) => `no stop of Tab: ${name(each)}`),
    ...pressed.filter((each) => !answers(each)).map((each) => `for pointers only: ${name(each)}`),
  ];
}
"""

_UNMARKED = """
(selector) => {
  const drawn = (each) => {
    const style = getComputedStyle(each);
    const outline = style.outlineStyle !== "none" && style.outlineWidth;
    return [outline, style.boxShadow, style.borderColor, style.backgroundColor].join();
  };
  // The frame around a field may show the focus.
  const look = (each) => [drawn(each), drawn(each.parentElement)].join();
  const was = document.activeElement;
  const found = focusables(document.querySelector(selector)).slice(0, 150).filter((each) => {
    was?.blur?.();
    const before = look(each);
    each.focus({focusVisible: true, preventScroll: true});
    return document.activeElement === each && look(each) === before;
  });
  document.activeElement?.blur();
  return found.map((each) => `unseen focus: ${each.tagName} ${each.outerHTML.slice(0, 90)}`);
}
"""

_SHAPE = """
(selector) => {
  const root = document.querySelector(selector);
  const boxes = [...root.querySelectorAll("*")].map((each) => {
    const {x, y, width, height} = each.getBoundingClientRect();
    return [x, y, width, height, each.checkVisibility({visibilityProperty: true})];
  });
  return root.outerHTML + JSON.stringify(boxes);
}
"""

DRAWN = """
() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))
"""

OTHER: dict[str, Literal["light", "dark"]] = {"light": "dark", "dark": "light"}

_WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Inspector:
    """An inspection of a page by axe and by the Tab key."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.evaluate(AXE.read_text(encoding="utf-8"))
        page.evaluate(_FOCUSABLE)

    def in_both_themes(self, selector: str = "html") -> list[str]:
        """Return all findings in a part of the page, and switch the theme.

        If both themes differ only in colours, checks independent of colours run once.
        """
        theme = self.theme()
        found = self.violations(selector) + self.unreachable(selector)
        is_same = self.switch_theme(selector)
        in_other = self.violations(selector, COLORS if is_same else "")
        in_other += self.unreachable(selector)
        return [f"{theme}: {each}" for each in found] + [
            f"{OTHER[theme]}: {each}" for each in in_other
        ]

    def switch_theme(self, selector: str = "html") -> bool:
        """Switch the theme, and return whether both themes differ only in colours."""
        theme = self.theme()
        shape = self.page.evaluate(_SHAPE, selector)
        self.page.emulate_media(color_scheme=OTHER[theme])
        self.page.evaluate(DRAWN)
        assert self.theme() == OTHER[theme]
        return self.page.evaluate(_SHAPE, selector) == shape

    def violations(
        self, selector: str = "html", category: str = "", without: str = ""
    ) -> list[str]:
        """Return axe's findings in a part of the page, by the rules of one category or by all.

        The rules of the category `without` do not run.
        """
        return self.page.evaluate(_RUN, [selector, TAGS, category, without])

    def unreachable(self, selector: str = "body") -> list[str]:
        """Return elements that only a pointer can press, and elements with an invisible focus."""
        found = self.page.evaluate(_UNREACHABLE, selector)
        return found + self.page.evaluate(_UNMARKED, selector)

    def theme(self) -> str:
        """Return the theme that the page follows."""
        is_dark = self.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        return "dark" if is_dark else "light"


def wider_than_screen(page: Page) -> int:
    """Return the number of pixels by which the page is wider than its window."""
    return page.evaluate(_WIDER)


def each_pane(playground: Playground) -> Iterator[str]:
    """Open every pane of the page, one after another, and yield its id."""
    traffic = Traffic(playground.page)
    groups = playground.page.locator(".pane-groups [data-group]")
    for group in range(groups.count()):
        groups.nth(group).click()
        tabs = playground.part("tabs").locator("[role=tab]")
        names = tabs.evaluate_all("tabs => tabs.map((tab) => tab.dataset.pane)")
        for name in names:
            tab = playground.page.locator(f"#tab-{name}")
            if tab.get_attribute("aria-selected") != "true":
                tab.click()
            expect(tab).to_have_attribute("aria-selected", "true")
            traffic.settle()
            # the page checks a quick model without a request
            expect(playground.page.locator("#pane[data-checked=running]")).to_have_count(0)
            yield name
