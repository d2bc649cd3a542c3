// Package figures writes the measurements of long runs into the documentation, with the commit that was measured, and lists
// the packages whose code has changed since. Only tests and tools use it.
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

// ofEngine lists the packages that produce a migration's writes.
var ofEngine = []string{"migration", "migration/plan", "migration/checks", "migration/planner", "migration/simulate", "migration/pass", "migration/queue", "migration/endpoint", "migration/observe", "migration/execute", "migration/preflight", "pdb", "volumes"}

// ofMethods adds the packages of the volume methods.
var ofMethods = append(slices.Clone(ofEngine), "volumes/copy", "volumes/snapshot", "volumes/methods")

// ofSlices lists the packages that produce the writes of the slice controller.
var ofSlices = []string{"slices", "slices/decide", "slices/observe", "slices/execute"}

// ofDecisions lists the packages that mutation tests change.
var ofDecisions = slices.Concat(ofEngine, ofSlices)

// ofPrograms lists all packages up to the API server.
var ofPrograms = append(slices.Clone(ofEngine), "internal/clusters", "internal/clusters/portforward", "internal/kubeconfig", "internal/records", "cmd/manager", "cmd/migrate/command", "cmd/migrate/move")

// ofMover lists the packages of the program that copies volumes.
var ofMover = []string{"cmd/mover", "mover/codec", "mover/entry", "mover/wire", "mover/differ", "mover/tree", "mover/block", "mover/link", "mover/transfer"}

// about lists, for each make target, the packages that its figures depend on.
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

// block matches a place for figures: the make target, the text, the measured commit, and the code.
var block = regexp.MustCompile(`(?s)<!-- figures: written by make ([a-z0-9-]+) -->\n(.*?)\nMeasured at commit ([^.]*)\.[^\n]*\n<!-- end of figures(?:; code: ([^\n]*))? -->\n`)

// once matches the place where a page with many figures lists all changes together, instead of at each of them.
var once = regexp.MustCompile(`(?s)<!-- figures: what has changed since -->\n(.*?)<!-- end of what has changed -->\n`)

// Write replaces the figures of a make target in the page at path, between two comments, with the commit and the code. It
// fails if the page has no place for them.
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

// Block returns the figures of a make target in the form of a page, with the commit and the code at root, the top of the
// repository.
func Block(root, target, text string) (string, error) {
	code, err := codeOf(root, about[target])
	if err != nil {
		return "", err
	}
	return render(target, strings.TrimSuffix(text, "\n")+"\n", Commit(root), code, nil), nil
}

// Refresh updates the list of changed packages at each of the page's figures, and writes the page if write is true. It
// reports whether the page was out of date.
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
			err = fmt.Errorf("no packages are listed for the figures of make %s", target)
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

// summarize writes the changes into the single place for them, if the page has it. Figures with the same changes are listed
// together.
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

// changed returns the packages whose code has changed.
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

// rootOf returns the top of the repository that contains a file.
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

// Commit returns the commit that is checked out, and whether Go files have changed since.
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
