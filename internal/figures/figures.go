// Package figures writes the figures that long runs measure into one page of the documentation, each with the commit and the
// machine that it was measured at.
package figures

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/sliceshift/sliceshift/internal/program"
)

// Page is the page of the figures, from the root of the module.
const Page = "docs/engineering/figures.md"

// block matches the figures of one make target, or of one version of Kubernetes.
var block = regexp.MustCompile(`(?s)<!-- figures: written by make ([a-z0-9-]+(?: KUBERNETES=[0-9.]+)?) -->\n.*?<!-- end of figures -->\n`)

// Write replaces the figures of a make target in Page, for example duel or duel KUBERNETES=1.37. The page has a place for
// each target; another target is an error.
func Write(target, text string) error {
	path, err := path()
	if err != nil {
		return err
	}
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := put(string(page), target, Block(target, text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(changed), 0o600)
}

// Read returns the text of Page.
func Read() (string, error) {
	path, err := path()
	if err != nil {
		return "", err
	}
	page, err := os.ReadFile(path)
	return string(page), err
}

// Block renders the figures of a make target, measured by this process: for pages that a target writes as a whole.
func Block(target, text string) string {
	return fmt.Sprintf("<!-- figures: written by make %s -->\n%s\n\nMeasured at commit %s, on %s.\n<!-- end of figures -->\n",
		target, strings.TrimSuffix(text, "\n"), Commit(), machine())
}

func put(page, target, text string) (string, error) {
	for _, found := range block.FindAllStringSubmatch(page, -1) {
		if found[1] == target {
			return strings.Replace(page, found[0], text, 1), nil
		}
	}
	return "", errors.New("no place for the figures of make " + target)
}

// path returns where Page is: the working directory of a test or a program is somewhere in the module.
func path() (string, error) {
	dir, err := root()
	return filepath.Join(dir, filepath.FromSlash(Page)), err
}

func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(Page))); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no folder above the working directory has " + Page)
		}
		dir = above
	}
}

// Commit returns the commit of the working tree in short form, and reports changes of Go files that are not committed.
func Commit() string {
	in := program.In{}
	id, err := in.Output(context.Background(), "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	changed, err := in.Output(context.Background(), "git", "status", "--porcelain", "--", ":/*.go")
	if err == nil && changed != "" {
		return id + " with changes"
	}
	return id
}

// model matches the name of a processor in /proc/cpuinfo.
var model = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)

// machine describes the machine of this process.
func machine() string {
	text := fmt.Sprintf("%d processors", runtime.NumCPU())
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return text
	}
	if found := model.FindSubmatch(info); found != nil {
		text += " (" + strings.Join(strings.Fields(string(found[1])), " ") + ")"
	}
	return text
}
