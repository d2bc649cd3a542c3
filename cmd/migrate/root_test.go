package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/internal/version"
)

// wholeConsole returns a process with all commands.
func wholeConsole(args ...string) *commandtest.Console {
	c := commandtest.New(ownCommands, args...)
	c.Root, c.Groups = newRoot(), groups
	return c
}

func TestCommandLines(t *testing.T) {
	kubeconfig := apitest.SilentKubeconfig(t, "east", "west")
	for name, tc := range map[string]struct {
		args     []string
		want     int
		wantText string
	}{
		"nothing prints the help":  {nil, 0, "Moves a running StatefulSet"},
		"help":                     {[]string{"run", "--help"}, 0, "Exit codes"},
		"unknown verb":             {[]string{"bogus"}, 2, `unknown verb "bogus"`},
		"nearly a verb":            {[]string{"statu"}, 2, "did you mean status?"},
		"letters exchanged":        {[]string{"plna"}, 2, "did you mean plan?"},
		"nearly a flag":            {[]string{"plan", "web", "--creat-namespace"}, 2, "unknown flag: --creat-namespace; did you mean --create-namespace?"},
		"unknown flag":             {[]string{"plan", "web", "--nope"}, 2, "unknown flag: --nope"},
		"no unit":                  {[]string{"run", "web", "--min-ready", "30"}, 2, "--min-ready 30 has no unit: 30s is so many seconds"},
		"no duration":              {[]string{"run", "web", "--timeout", "soon"}, 2, `--timeout must be a duration such as 30s, 10m or 1h30m, not "soon"`},
		"no such shell":            {[]string{"completion", "bsh"}, 2, `there is no completion for "bsh": it is one of bash, fish, kubectl, powershell, zsh`},
		"no shell":                 {[]string{"completion"}, 0, "Available Commands"},
		"bad choice":               {[]string{"plan", "web", "--order", "random"}, 2, "highest-first, lowest-first"},
		"bad colour":               {[]string{"version", "--color", "pink"}, 2, "auto, always, never"},
		"no number":                {[]string{"plan", "web", "--count", "all"}, 2, `--count must be a whole number, not "all"`},
		"no class":                 {[]string{"plan", "web", "--storage-class", "data"}, 2, `--storage-class must be TEMPLATE=CLASS, not "data"`},
		"no such hook verb":        {[]string{"hooks", "retr", "web"}, 2, `unknown verb "retr"; did you mean retry?`},
		"no namespace's name":      {[]string{"plan", "web", "--to-namespace", "Sh op"}, 2, `no namespace can be called "Sh op"`},
		"no StatefulSet's name":    {[]string{"run", "web", "--to-name", "Web_x"}, 2, `no StatefulSet can be called "Web_x"`},
		"more than the whole":      {[]string{"run", "web", "--to-name", "x", "--max-unavailable", "120%"}, 2, `spec.maxUnavailable: Invalid value: "120%"`},
		"no StatefulSet":           {[]string{"plan"}, 2, "takes one StatefulSet, 0 were given"},
		"two StatefulSets":         {[]string{"plan", "a", "b"}, 2, "takes one StatefulSet, 2 were given"},
		"another kind":             {[]string{"plan", "deploy/web"}, 2, `"deploy/web" is not a StatefulSet`},
		"no name":                  {[]string{"status", "migration/"}, 2, "has no name"},
		"nowhere to go":            {[]string{"run", "web"}, 2, "nothing says where to"},
		"negative timeout":         {[]string{"run", "web", "--to-name", "x", "--timeout", "-1s"}, 2, "must not be negative"},
		"quiet JSON":               {[]string{"run", "web", "--to-name", "x", "-q", "-o", "json"}, 2, "exclude each other"},
		"timeout without wait":     {[]string{"rollback", "web", "--timeout", "1s"}, 2, "--timeout is for --wait"},
		"version with an argument": {[]string{"version", "x"}, 2, "takes no arguments"},
		"no such context":          {[]string{"plan", "web", "--context", "north", "--to-name", "x"}, 1, `no context "north", only: east, west`},
		"no such destination":      {[]string{"plan", "web", "--to-context", "north"}, 1, "--to-kubeconfig or --to-context"},
		"no such file":             {[]string{"plan", "web", "--to-kubeconfig", "/nowhere"}, 1, "/nowhere"},
		"errors above 1":           {[]string{"plan", "web", "--to-context", "north", "--exit-code"}, 2, `no context "north"`},
		"create to itself":         {[]string{"create", "web"}, 2, "are the same StatefulSet"},
		"create to its namespace":  {[]string{"create", "web", "-n", "shop", "--to-namespace", "shop"}, 2, "are the same StatefulSet"},
		"bad secret":               {[]string{"create", "web", "--source-secret", "a/b/c"}, 2, "NAME or NAME/KEY"},
		"nothing to pull":          {[]string{"install", "--print"}, 2, "this build knows no image of the manager that a cluster could pull: give --image"},
		"bad format":               {[]string{"create", "web", "--to-name", "x", "-o", "wide"}, 2, "allowed formats are"},
	} {
		t.Run(name, func(t *testing.T) {
			c := wholeConsole(append(tc.args, "--kubeconfig", kubeconfig)...)
			if tc.args == nil {
				c.Args = nil
			}
			if got := c.Run(t); got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
			}
			out, other := c.Stdout.String(), c.Stderr.String()
			if tc.want != 0 {
				out, other = other, out
			}
			if !strings.Contains(out, tc.wantText) {
				t.Errorf("output lacks %q:\n%s", tc.wantText, out)
			}
			if other != "" {
				t.Errorf("the other stream is not empty:\n%s", other)
			}
			if hint := strings.Contains(c.Stderr.String(), "--help"); hint != (tc.want == 2 && name != "errors above 1") {
				t.Errorf("hint at the help: %v\n%s", hint, c.Stderr)
			}
		})
	}
}

// TestHelpNamesTheCommand: help and examples of each command use the name by which the user calls the program.
func TestHelpNamesTheCommand(t *testing.T) {
	for _, verb := range []string{"preflight", "plan", "create", "run", "status", "pause", "resume", "rollback", "recipes", "install", "uninstall", "version"} {
		t.Run(verb, func(t *testing.T) {
			c := wholeConsole(verb, "--help")
			c.Program = "kubectl migrate"
			if code := c.Run(t); code != 0 {
				t.Fatalf("exit code %d", code)
			}
			help := c.Stdout.String()
			for _, want := range []string{"kubectl migrate " + verb + " ", "Examples:"} {
				if !strings.Contains(help, want) {
					t.Errorf("help lacks %q:\n%s", want, help)
				}
			}
			if strings.Contains(help, "\n  migrate ") {
				t.Errorf("help names another command:\n%s", help)
			}
		})
	}
}

// TestVersionLine: the version shows commit, date and changes of the build, if known.
func TestVersionLine(t *testing.T) {
	for want, info := range map[string]version.Info{
		"migrate dev, go1\n": {Version: "dev", Go: "go1"},
		"migrate v1.2.0 (abc, 2026-11-27T03:06:21Z), go1\n":            {Version: "v1.2.0", Commit: "abc", Date: "2026-11-27T03:06:21Z", Go: "go1"},
		"migrate dev (abc, 2026-11-27T03:06:21Z, with changes), go1\n": {Version: "dev", Commit: "abc", Date: "2026-11-27T03:06:21Z", Modified: true, Go: "go1"},
	} {
		c := wholeConsole("version")
		if err := (&versionOptions{Common: command.NewCommon(c.Environment)}).line(info); err != nil || c.Stdout.String() != want {
			t.Errorf("%q, %v, want %q", c.Stdout, err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for format, want := range map[string]string{"json": "{\n  \"version\": \"dev\"", "yaml": "version: dev\n"} {
		c := wholeConsole("version", "-o", format)
		if code := c.Run(t); code != 0 || !strings.Contains(c.Stdout.String(), want) {
			t.Errorf("version -o %s: exit code %d, output %q", format, code, c.Stdout)
		}
	}
}

// TestV8Help: commands and flags are in few groups, and zero defaults are not shown.
func TestV8Help(t *testing.T) {
	c := wholeConsole("--help")
	if code := c.Run(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	help := c.Stdout.String()
	for _, title := range []string{"Move, and steer a move:", "Look at moves:", "Volumes and StatefulSets of our kind:", "Install, and this program:"} {
		if strings.Count(help, title) != 1 {
			t.Errorf("the help lacks the group %q:\n%s", title, help)
		}
	}
	if strings.Contains(help, "Available Commands") {
		t.Errorf("a command has no group:\n%s", help)
	}
	eachCommand(c.Root, func(cmd *cobra.Command) {
		usage := cmd.UsageString()
		for _, none := range []string{"(default )", "(default [])", "(default 0s)"} {
			if strings.Contains(usage, none) {
				t.Errorf("%s: %s\n%s", cmd.CommandPath(), none, usage)
			}
		}
	})
	run, _, err := c.Root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"Flags:", "Destination:", "Ordinals and budget:", "Volumes:", "Other objects of the pods:", "Schedule, gates and hooks:", "Flags of all commands:"} {
		if strings.Count(run.UsageString(), "\n"+title+"\n") != 1 {
			t.Errorf("run lacks the group %q:\n%s", title, run.UsageString())
		}
	}
}
