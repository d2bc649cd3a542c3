package recipe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/migration/recipes"
)

func console(args ...string) *commandtest.Console {
	return commandtest.New(func(c *command.Common) []*cobra.Command { return []*cobra.Command{New(c)} }, args...)
}

func TestCommands(t *testing.T) {
	for name, tc := range map[string]struct {
		args     []string
		want     int
		wantText []string
	}{
		"list":                {[]string{"recipes"}, 0, []string{"NAME", "etcd", "redis-cluster", "TRIED"}},
		"list, for a program": {[]string{"recipes", "-o", "json"}, 0, []string{`"name": "etcd"`, `"trial"`}},
		"show":                {[]string{"recipes", "show", "etcd"}, 0, []string{"etcd-linearizable", "/readyz", "member remove", "Sources", "--order highest-first"}},
		"show, by an alias":   {[]string{"recipes", "show", "opensearch"}, 0, []string{"Elasticsearch and OpenSearch"}},
		"show, as a file":     {[]string{"recipes", "show", "kafka", "-o", "yaml"}, 0, []string{"name: kafka", "{{bootstrap}}"}},
		"show what":           {[]string{"recipes", "show"}, 2, []string{"takes one recipe, 0 were given"}},
		"show nothing known":  {[]string{"recipes", "show", "oracle"}, 2, []string{`there is no recipe "oracle", only: cassandra`, "./oracle.yaml"}},
		"show no file":        {[]string{"recipes", "show", "./nowhere.yaml"}, 2, []string{"there is no file ./nowhere.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := console(tc.args...)
			if got := c.Run(t); got != tc.want {
				t.Errorf("exit code %d, want %d: %s", got, tc.want, c.Stderr)
			}
			for _, text := range tc.wantText {
				if !strings.Contains(c.Stdout.String()+c.Stderr.String(), text) {
					t.Errorf("the output lacks %q:\n%s%s", text, c.Stdout, c.Stderr)
				}
			}
		})
	}
}

// TestShownIsTaken: the YAML that show prints is a valid recipe, equal to the original.
func TestShownIsTaken(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			c := console("recipes", "show", r.Name, "-o", "yaml")
			if code := c.Run(t); code != 0 {
				t.Fatalf("exit code %d: %s", code, c.Stderr)
			}
			path := filepath.Join(t.TempDir(), "ours.yaml")
			if err := os.WriteFile(path, c.Stdout.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			again, err := Find(path)
			if err != nil || again.Summary != r.Summary || len(again.Gates) != len(r.Gates) {
				t.Errorf("%+v: %v", again, err)
			}
		})
	}
}

func TestApply(t *testing.T) {
	for name, tc := range map[string]struct {
		flags Flags
		want  string // of the error
		gates int
	}{
		"none":                     {Flags{}, "", 0},
		"parameters of no recipe":  {Flags{set: []string{"port=1"}}, "give --recipe", 0},
		"defaults":                 {Flags{recipe: "etcd"}, "", 1},
		"a parameter with = in it": {Flags{recipe: "etcd", set: []string{"path=/health?serializable=false"}}, "", 1},
		"unknown":                  {Flags{recipe: "oracle"}, "there is no recipe", 0},
		"must be given":            {Flags{recipe: "kafka"}, "parameter image must be given", 0},
		"no such parameter":        {Flags{recipe: "etcd", set: []string{"color=red"}}, `no parameter "color"`, 0},
		"no value":                 {Flags{recipe: "etcd", set: []string{"port"}}, "must be KEY=VALUE", 0},
		"twice":                    {Flags{recipe: "etcd", set: []string{"port=1", "port=2"}}, "gives port twice", 0},
	} {
		t.Run(name, func(t *testing.T) {
			spec := api.MigrationSpec{}
			_, err := tc.flags.Apply(&spec, "web", recipes.Given{})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if len(spec.Gates) != tc.gates {
				t.Errorf("%d gates, want %d", len(spec.Gates), tc.gates)
			}
		})
	}
}

func TestWarning(t *testing.T) {
	tried, untried := &recipes.Recipe{Name: "a", Trial: recipes.Trial{Status: recipes.Tried}}, &recipes.Recipe{Name: "b", Trial: recipes.Trial{Status: recipes.Untried}}
	if Warning("migrate", nil) != "" || Warning("migrate", tried) != "" || !strings.Contains(Warning("kubectl migrate", untried), "kubectl migrate recipes show b") {
		t.Error(Warning("migrate", nil), Warning("migrate", tried), Warning("migrate", untried))
	}
}
