// Package figures writes what a long run has measured into the documentation, with the commit
// that it was measured at, and says of which packages the code has changed since. Only tests and
// tools use it.
package figures

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/internal/program"
)

// ofEngine are the packages that a migration's writes come from.
var ofEngine = []string{"migration", "migration/plan", "migration/checks", "migration/planner", "migration/simulate", "migration/pass", "migration/queue", "migration/endpoint", "migration/observe", "migration/execute", "migration/preflight", "pdb", "volumes"}

// ofMethods are those of the ways to carry a volume as well.
var ofMethods = append(slices.Clone(ofEngine), "volumes/copy", "volumes/snapshot", "volumes/methods")

// ofSlices are those that the writes of our own StatefulSet controller come from.
var ofSlices = []string{"slices", "slices/decide", "slices/observe", "slices/execute"}

// ofDecisions are those in which faults are made.
var ofDecisions = slices.Concat(ofEngine, ofSlices)

// ofPrograms are those of the whole way to an API server.
var ofPrograms = append(slices.Clone(ofEngine), "internal/clusters", "internal/clusters/portforward", "internal/kubeconfig", "internal/records", "cmd/manager", "cmd/migrate/command", "cmd/migrate/move")

// ofMover are those of the program that copies volumes.
var ofMover = []string{"cmd/mover", "mover/codec", "mover/entry", "mover/wire", "mover/differ", "mover/tree", "mover/block", "mover/link", "mover/transfer"}

// about says of which packages each make target's figures are.
var about = map[string][]string{
	"verify-model":     ofEngine,
	"verify-methods":   ofMethods,
	"crash-matrix":     ofPrograms,
	"chaos":            ofPrograms,
	"swing":            ofPrograms,
	"successor":        ofPrograms,
	"hostile":          ofPrograms,
	"bench":            ofPrograms,
	"bench-many":       ofPrograms,
	"bench-slices":     append(slices.Clone(ofSlices), "cmd/manager"),
	"bench-copy":       ofMover,
	"bench-copy-files": ofMover,
	"duel":             ofSlices,
	"soak":             ofSlices,
	"e2e-etcd":         ofPrograms,
	"mutants":          ofDecisions,
	"mutants-list":     ofDecisions,
}

// block is a place for figures: whose they are, what they say, where they were measured, and of
// what code.
var block = regexp.MustCompile(`(?s)<!-- figures: written by make ([a-z0-9-]+) -->\n(.*?)\nMeasured at commit ([^.]*)\.[^\n]*\n<!-- end of figures(?:; code: ([^\n]*))? -->\n`)

// once is where a page with many figures says of all of them together what has changed since, instead of at each.
var once = regexp.MustCompile(`(?s)<!-- figures: what has changed since -->\n(.*?)<!-- end of what has changed -->\n`)

// Write puts text where the page at path has the figures of a make target, between two comments,
// and names the commit and the code. It fails where the page has no such place.
func Write(path, target, text string) error {
	root, err := rootOf(path)
	if err != nil {
		return err
	}
	figures, err := Block(root, target, text)
	if err != nil {
		return err
	}
	return edit(path, func(page string) (string, error) {
		page, err := put(page, target, figures)
		if err != nil {
			return page, err
		}
		return summarize(root, page)
	})
}

// Block is the figures of a make target as they stand in a page, with the commit and the code at
// root, the top of the repository.
func Block(root, target, text string) (string, error) {
	code, err := codeOf(root, about[target])
	if err != nil {
		return "", err
	}
	return render(target, strings.TrimSuffix(text, "\n")+"\n", Commit(root), code, nil), nil
}

// Refresh finds out for the page at path, at each of its figures, what has changed since, and
// writes it when asked to. It says whether the page did not say so.
func Refresh(path string, write bool) (stale bool, err error) {
	root, err := rootOf(path)
	if err != nil {
		return false, err
	}
	err = edit(path, func(page string) (string, error) {
		fresh, err := refresh(root, page)
		stale = fresh != page
		if !write {
			return page, err
		}
		return fresh, err
	})
	return stale, err
}

func edit(path string, change func(string) (string, error)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err := change(string(data))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if page == string(data) {
		return nil
	}
	return os.WriteFile(path, []byte(page), 0o600)
}

func put(page, target, text string) (string, error) {
	for _, found := range block.FindAllStringSubmatch(page, -1) {
		if found[1] == target {
			return strings.Replace(page, found[0], text, 1), nil
		}
	}
	return "", errors.New("it has no place for the figures of make " + target)
}

func refresh(root, page string) (string, error) {
	var wrong error
	page = block.ReplaceAllStringFunc(page, func(old string) string {
		found := block.FindStringSubmatch(old)
		target, text, at, code := found[1], found[2], found[3], found[4]
		now, err := codeOf(root, about[target])
		if err == nil && now == "" {
			err = fmt.Errorf("nobody has said of which packages the figures of make %s are", target)
		}
		wrong = errors.Join(wrong, err)
		since := changed(code, now)
		if once.MatchString(page) {
			since = nil
		}
		return render(target, text, at, code, since)
	})
	if wrong != nil {
		return page, wrong
	}
	return summarize(root, page)
}

// summarize writes what has changed since into the one place that a page has for that, if it has one: figures of which the same has
// changed are named together.
func summarize(root, page string) (string, error) {
	if !once.MatchString(page) {
		return page, nil
	}
	var lists []string
	targets := map[string][]string{}
	for _, found := range block.FindAllStringSubmatch(page, -1) {
		target, code := found[1], found[4]
		now, err := codeOf(root, about[target])
		if err != nil {
			return page, err
		}
		list := strings.Join(changed(code, now), ", ")
		if list == "" {
			continue
		}
		if targets[list] == nil {
			lists = append(lists, list)
		}
		targets[list] = append(targets[list], "`make "+target+"`")
	}
	var said []string
	for _, list := range lists {
		said = append(said, strings.Join(targets[list], " and ")+": "+list)
	}
	text := ""
	if len(said) > 0 {
		text = "Changed since these figures were measured, by " + strings.Join(said, "; by ") + ".\n"
	}
	return once.ReplaceAllLiteralString(page, "<!-- figures: what has changed since -->\n"+text+"<!-- end of what has changed -->\n"), nil
}

// changed are the packages of which the code is not what it was.
func changed(before, now string) []string {
	was := strings.Split(before, ", ")
	var found []string
	for one := range strings.SplitSeq(now, ", ") {
		if !slices.Contains(was, one) {
			name, _, _ := strings.Cut(one, " ")
			found = append(found, "`"+name+"`")
		}
	}
	return found
}

func render(target, text, commit, code string, changed []string) string {
	since := ""
	if len(changed) > 0 {
		since = " Changed since: " + strings.Join(changed, ", ") + "."
	}
	end := ""
	if code != "" {
		end = "; code: " + code
	}
	return fmt.Sprintf("<!-- figures: written by make %s -->\n%s\nMeasured at commit %s.%s\n<!-- end of figures%s -->\n", target, text, commit, since, end)
}

// rootOf is the top of the repository that a file is in.
func rootOf(path string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is in no module", path)
		}
	}
	return "", err
}

// Commit is the one that is checked out, and whether something has changed since.
func Commit(root string) string {
	in := program.In{Dir: root}
	id, err := in.Output(context.Background(), "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	changed, err := in.Output(context.Background(), "git", "status", "--porcelain", "--", "*.go")
	if err == nil && changed != "" {
		return id + ", with changes"
	}
	return id
}
