// Package figures writes what a long run has measured into the documentation, with the commit
// that it was measured at. Only tests use it.
package figures

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// end closes the place of each run's figures.
const end = "<!-- end of figures -->\n"

// Write puts text where the page at path has the figures of a make target, between two comments,
// and names the commit. It fails where the page has no such place.
func Write(path, target, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err := put(string(data), target, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(page), 0o600)
}

func put(page, target, text string) (string, error) {
	begin := "<!-- figures: written by make " + target + " -->\n"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", errors.New("it has no place for the figures of make " + target)
	}
	return before + begin + strings.TrimSuffix(text, "\n") + "\n\nMeasured at commit " + commit() + ".\n" + end + after, nil
}

// commit is the one that is checked out, and whether something has changed since.
func commit() string {
	id, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	changed, err := exec.Command("git", "status", "--porcelain", "--", "*.go").Output()
	if err == nil && len(changed) > 0 {
		return strings.TrimSpace(string(id)) + ", with changes"
	}
	return strings.TrimSpace(string(id))
}
