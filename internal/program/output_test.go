package program

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutput: exactly the standard output of a program is returned.
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

// TestOutputFails: the error of a failed program contains its name, its exit status and the end of its standard error, where
// the reason is. Its standard output is not returned.
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
