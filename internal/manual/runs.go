package manual

import (
	"fmt"
	"regexp"
)

// The tests that run commands in the words of the pages, as FOLDER.TEST. What each of them runs it learns here, by Of.
const (
	// Release has a checkout, git, registries and krew.
	Release = "hack/release.TestRelease"
	// Image has Docker.
	Image = "e2e/kind/tutorial.TestImage"
	// Mover has both sides of a mover.
	Mover = "cmd/mover.TestPage"
)

// Rule says what runs commands other than e2e/pages does.
type Rule struct {
	// Page is that of the commands; "" is any.
	Page string
	verb *regexp.Regexp
	// By is a test, as FOLDER.TEST, or a target of the Makefile, as "make TARGET".
	By string
	// Words tell that it does: the sources of the test's folder, or the recipe of the target, match each of them. Without them
	// the test asks Of, and runs what that says in its very words.
	Words []*regexp.Regexp
}

func words(by, verb string, words ...string) Rule {
	r := Rule{By: by, verb: regexp.MustCompile(`^` + verb)}
	for _, each := range words {
		r.Words = append(r.Words, regexp.MustCompile(each))
	}
	return r
}

// Rules are looked at in their order; the first one that takes a command counts.
var Rules = []Rule{
	{Page: "tutorial.md", verb: regexp.MustCompile(``), By: "e2e/kind/tutorial.TestTutorial", Words: []*regexp.Regexp{regexp.MustCompile(`commandsOf\(page\)`)}},
	words(Release, `(git|cd|skopeo|sha256sum|sudo|helm push|kubectl krew|make build|make release)\b`),
	words(Image, `(make image|docker)\b`),
	words(Mover, `mover\b`),
	words("make everything", `make test$`, `-everything`),
	words("make demo", `make demo$`, `GO\) run \./e2e/demo`),
	words("e2e/move.TestSnapshotMoves", `kubectl migrate run .*data=snapshot,class=`, `"--volume", "data=snapshot,class=nightly"`),
	words("e2e/move.TestH1RecordIsLost", `kubectl migrate run .*--resume-uid UID$`, `v\.cli\("run", append\(tc\.flags, "--resume-uid", string\(uid\)`),
	words("e2e/move.TestAdoptKruise", `kubectl migrate adopt .*--from kruise`, `v\.cli\("adopt", append\(\[\]string\{"--from", "kruise"\}`),
}

// By is the rule that takes a command, if any does.
func By(c Command) (Rule, bool) {
	for _, r := range Rules {
		if (r.Page == "" || r.Page == c.Page) && r.verb.MatchString(c.flat()) {
			return r, true
		}
	}
	return Rule{}, false
}

// Of are the commands of all pages that a test has to run in their words, in the order of the pages.
func Of(root, test string) ([]Command, error) {
	pages, err := Pages(root)
	if err != nil {
		return nil, err
	}
	var all []Command
	for _, page := range pages {
		commands, err := Read(page)
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
