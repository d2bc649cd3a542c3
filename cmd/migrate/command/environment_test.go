package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProgramName(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/migrate":                 "migrate",
		"/home/me/.krew/kubectl-migrate":   "kubectl migrate",
		"kubectl-migrate.exe":              "kubectl migrate",
		"kubectl-sliceshift-migrate":       "kubectl sliceshift migrate",
		"kubectl-stateful_migrate":         "kubectl stateful-migrate",
		"./out/some.other.name.of-migrate": "some.other.name.of-migrate",
	} {
		if got := ProgramName(path); got != want {
			t.Errorf("programName(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	e := Environment{Program: "migrate", Args: []string{"run", "web", "-n", "my shop", "--storage-class", "a=b", "it's", ""}}
	want := `migrate run web -n 'my shop' --storage-class a=b 'it'\''s' ''`
	if diff := cmp.Diff(want, e.CommandLine()); diff != "" {
		t.Error(diff)
	}
}

func TestColor(t *testing.T) {
	for name, tc := range map[string]struct {
		args  []string
		env   map[string]string
		width int
		want  bool
	}{
		"a pipe":              {want: false},
		"a terminal":          {width: 80, want: true},
		"NO_COLOR":            {width: 80, env: map[string]string{"NO_COLOR": "1"}, want: false},
		"a dumb terminal":     {width: 80, env: map[string]string{"TERM": "dumb"}, want: false},
		"always":              {args: []string{"--color", "always"}, want: true},
		"always, in spite of": {args: []string{"--color=always"}, env: map[string]string{"NO_COLOR": "1"}, want: true},
		"never":               {args: []string{"--color", "never"}, width: 80, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			shared := NewCommon(Environment{Width: func() int { return tc.width }, Getenv: func(name string) string { return tc.env[name] }})
			if len(tc.args) > 0 {
				value := strings.TrimPrefix(tc.args[len(tc.args)-1], "--color=")
				if err := shared.color.Set(value); err != nil {
					t.Fatal(err)
				}
			}
			if got := shared.Paint().On; got != tc.want {
				t.Errorf("colour %v, want %v", got, tc.want)
			}
		})
	}
}
