package explain

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
)

// TestEveryReasonIsExplained: each reason that the code declares has an entry with a meaning and a remedy, unless it
// needs none.
func TestEveryReasonIsExplained(t *testing.T) {
	all := Entries()
	known := reasons(all)
	declared := regexp.MustCompile(`(?m)^\s+Reason\w+\s*=\s*"(\w+)"`)
	count := 0
	for _, file := range []string{"../../../api/migration/v1alpha1/reasons.go", "../../../volumes/reason.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			if count++; !slices.Contains(known, found[1]) {
				t.Errorf("%s is not explained", found[1])
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d reasons were found", count)
	}
	calm := []string{"Ready", "Moving", "RollingBack", "Paused", "Moved", "RolledBack", "Recovered", "Released", "AlreadyCompleted"}
	for _, e := range all {
		switch {
		case e.Meaning == "":
			t.Errorf("%s has no meaning", e.Reason)
		case !slices.Contains(calm, e.Reason) && (e.Remedy == "" || e.Why == ""):
			t.Errorf("%s lacks a remedy or why it matters: %+v", e.Reason, e)
		case strings.Contains(e.Meaning+e.Why+e.Remedy, "]("):
			t.Errorf("%s has marks of a page", e.Reason)
		}
	}
}

// TestExplain: the text fits the width of a terminal. For a mistyped reason the error suggests similar ones.
func TestExplain(t *testing.T) {
	run := func(width int, args ...string) (stdout, stderr string, code int) {
		c := commandtest.New(Commands, append([]string{"explain", "--color", "never"}, args...)...)
		if width > 0 {
			shown := c.OnTerminal(width)
			code = c.Run(t)
			return shown.Shown(), c.Stderr.String(), code
		}
		code = c.Run(t)
		return c.Stdout.String(), c.Stderr.String(), code
	}
	for _, width := range []int{60, 80, 120} {
		out, _, code := run(width, "sourcemissing")
		if code != command.ExitDone || !strings.HasPrefix(out, "SourceMissing\n") || !strings.Contains(out, "Why it matters") || !strings.Contains(out, "kubectl get sts -n shop --context east") {
			t.Errorf("exit code %d:\n%s", code, out)
		}
		for line := range strings.SplitSeq(out, "\n") {
			if len([]rune(line)) >= width && !strings.Contains(line, folder) && !strings.Contains(strings.TrimSpace(line), "https://") && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
	out, _, _ := run(0, "SourceMissing", "-o", "json")
	var e Entry
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.Reason != "SourceMissing" || e.URL != folder+"SourceMissing.md" || e.Remedy == "" {
		t.Errorf("%v: %s", err, out)
	}
	if _, stderr, code := run(0, "SourceMising"); code != command.ExitUsage || !strings.Contains(stderr, `no reason is called "SourceMising"; did you mean SourceMissing`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if out, _, code := run(0); code != command.ExitDone || strings.Count(out, "\n") < 100 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
