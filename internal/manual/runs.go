package manual

import (
	"fmt"
	"regexp"
)

// The tests that run commands verbatim from the pages, as FOLDER.TEST. They get their commands from Of.
const (
	// Release has a checkout, git, registries and krew.
	Release = "hack/release.TestRelease"
	// Image has Docker.
	Image = "e2e/kind/tutorial.TestImage"
	// Mover has both sides of a mover.
	Mover = "cmd/mover.TestPage"
)

// Rule maps commands to the test or target that runs them instead of e2e/pages.
type Rule struct {
	// Page is the page of the commands. "" means any page.
	Page string
	verb *regexp.Regexp
	// By is a test, as FOLDER.TEST, or a target of the Makefile, as "make TARGET".
	By string
	// Words match the sources of the test's folder, or the recipe of the target, and prove that it runs the command. Without
	// Words, the test calls Of and runs the commands verbatim.
	Words []*regexp.Regexp
}

func words(by, verb string, words ...string) Rule {
	r := Rule{By: by, verb: regexp.MustCompile(`^` + verb)}
	for _, each := range words {
		r.Words = append(r.Words, regexp.MustCompile(each))
	}
	return r
}

// Rules are applied in order. The first match counts.
var Rules = []Rule{
	{Page: "docs/tutorial.md", verb: regexp.MustCompile(``), By: "e2e/kind/tutorial.TestTutorial", Words: []*regexp.Regexp{regexp.MustCompile(`commandsOf\(page\)`)}},
	words(Release, `(git|cd|skopeo|sha256sum|sudo|helm push|kubectl krew|make build|make release)\b`),
	words(Image, `(make image|docker)\b`),
	words(Mover, `mover\b`),
	words("make test", `make test$`, `STAGES\) -test`),
	words("make demo", `make demo$`, `E2E\) run \./demo`),
	words("e2e/move.TestSnapshotMoves", `kubectl migrate run .*data=snapshot,class=`, `"--volume", "data=snapshot,class=nightly"`),
	words("e2e/move.TestRehearse", `kubectl migrate rehearse`, `"rehearse", v\.App\.Name`),
	words("e2e/move.TestH1RecordIsLost", `kubectl migrate run .*--resume-uid UID$`, `v\.cli\("run", append\(tc\.flags, "--resume-uid", string\(uid\)`),
	words("e2e/move.TestAdoptKruise", `kubectl migrate adopt .*--from kruise`, `v\.cli\("adopt", append\(\[\]string\{"--from", "kruise"\}`),
}

// By returns the rule that matches a command, if any.
func By(c Command) (Rule, bool) {
	for _, r := range Rules {
		if (r.Page == "" || r.Page == c.Page) && r.verb.MatchString(c.flat()) {
			return r, true
		}
	}
	return Rule{}, false
}

// Of returns the commands of all pages that a test must run verbatim, in the order of the pages.
func Of(root, test string) ([]Command, error) {
	pages, err := Pages(root)
	if err != nil {
		return nil, err
	}
	var all []Command
	for _, page := range pages {
		commands, err := Read(root, page)
		if err != nil {
			return nil, err
		}
		for _, c := range commands {
			if r, is := By(c); is && r.By == test {
				all = append(all, c)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no page shows a command that %s runs", test)
	}
	return all, nil
}
