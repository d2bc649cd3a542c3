package program

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutput: what a program has printed is all that is returned of it, and nothing else is.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	got, err := In{Dir: dir, Env: []string{"SAID=b"}, Stdin: strings.NewReader("a\n")}.Output(t.Context(), "sh", "-c", `cat; echo "$SAID" "$HOME"; pwd; echo complaint >&2; echo`)
	if err != nil {
		t.Fatal(err)
	}
	home, err := In{}.Output(t.Context(), "sh", "-c", `echo "$HOME"`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a\nb "+home+"\n"+dir, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestOutputFails: the error of a program that fails says which one it was, how it ended, and the end of
// what it complained of, which is where the reason is. What it has printed until then is not returned.
func TestOutputFails(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		args   []string
		want   string
	}{
		"with a complaint":      {"echo half; echo reason >&2; exit 3", nil, "sh -c echo half; echo reason >&2; exit 3: exit status 3: reason"},
		"without a word":        {"exit 3", nil, "sh -c exit 3: exit status 3: "},
		"with many arguments":   {"exit 3", []string{"one", "two"}, "sh -c exit 3 one: exit status 3: "},
		"with a long complaint": {`printf 'begin%01994dreason' 0 >&2; exit 3`, nil, `sh -c printf 'begin%01994dreason' 0 >&2; exit 3: exit status 3: ... ` + strings.Repeat("0", 1994) + "reason"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := In{}.Output(t.Context(), "sh", append([]string{"-c", tc.script}, tc.args...)...)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 3 {
				t.Fatalf("got %v, want an exit code of 3", err)
			}
			if diff := cmp.Diff(tc.want, err.Error()); got != "" || diff != "" {
				t.Errorf("got %q, and of the error -want +got\n%s", got, diff)
			}
		})
	}
	if _, err := (In{}).Output(t.Context(), "no-such-program"); !errors.Is(err, exec.ErrNotFound) || !strings.HasPrefix(err.Error(), "no-such-program : ") {
		t.Errorf("got %v", err)
	}
}
