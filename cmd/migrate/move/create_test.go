package move

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/internal/golden"
)

func TestCreateDryRun(t *testing.T) {
	c := newConsole("create", "web", "-n", "shop", "--source-secret", "east", "--destination-secret", "west/kubeconfig",
		"--service-account", "mover", "--mode", "pause", "--count", "2", "--max-unavailable", "10%", "--storage-class", "data=fast",
		"--export-services", "--create-namespace", "--to-namespace", "store", "--name", "web-2", "--dry-run=client", "-o", "yaml",
		"--kubeconfig", apitest.SilentKubeconfig(t, "east"))
	if code := c.Run(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, c.Stderr)
	}
	golden.Compare(t, "create.yaml", c.Stdout.String())
}

func TestCreateFormats(t *testing.T) {
	for format, want := range map[string]string{
		"name": "migration.migration.sliceshift.io/web\n",
		"json": `"kind": "Migration"`,
		"":     "migration.migration.sliceshift.io/web created (dry run)\n",
	} {
		t.Run("format "+format, func(t *testing.T) {
			c := newConsole("create", "sts/web", "--to-namespace", "store", "--dry-run=client", "-o", format, "--kubeconfig", apitest.SilentKubeconfig(t, "east"))
			if code := c.Run(t); code != 0 || !strings.Contains(c.Stdout.String(), want) {
				t.Errorf("exit code %d, output %q, want %q; %s", code, c.Stdout, want, c.Stderr)
			}
		})
	}
}

// TestCreateWithoutMode: applying the file again does not set the mode, which the user and the migration change.
func TestCreateWithoutMode(t *testing.T) {
	for mode, want := range map[string]bool{"run": false, "pause": true} {
		c := newConsole("create", "web", "--to-namespace", "store", "--mode", mode, "--dry-run=client", "-o", "yaml", "--kubeconfig", apitest.SilentKubeconfig(t, "east"))
		if code := c.Run(t); code != 0 || strings.Contains(c.Stdout.String(), "\n  mode: ") != want {
			t.Errorf("%s: exit code %d: %s", mode, code, c.Stdout)
		}
	}
}

// TestCreateByRecipe: the Migration contains the recipe. Explicit flags have precedence.
func TestCreateByRecipe(t *testing.T) {
	gates := filepath.Join(t.TempDir(), "gates.yaml")
	own := "gates: [{name: etcd-linearizable, at: [AfterStart], grpc: {port: 2381}}, {name: ours, at: [AtEnd], cel: {objects: {apiVersion: v1, kind: ConfigMap, name: a}, expression: object != null}}]"
	if err := os.WriteFile(gates, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args, want, without []string
	}{
		"alone": {nil, []string{"order: HighestFirst", "maxUnavailable: 1", "perOrdinal: Export", "name: etcd-linearizable", "path: /readyz", "port: 2379"}, []string{"grpc"}},
		"below what was asked for": {
			[]string{"--order", "lowest-first", "--max-unavailable", "2", "--export-ordinals=false", "--gates", gates},
			[]string{"order: LowestFirst", "maxUnavailable: 2", "grpc:", "name: ours"},
			[]string{"perOrdinal", "/readyz"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"create", "web", "--to-namespace", "store", "--recipe", "etcd", "--dry-run=client", "-o", "yaml", "--kubeconfig", apitest.SilentKubeconfig(t, "east")}, tc.args...)
			c := newConsole(args...)
			if code := c.Run(t); code != 0 {
				t.Fatalf("exit code %d: %s", code, c.Stderr)
			}
			for _, text := range tc.want {
				if !strings.Contains(c.Stdout.String(), text) {
					t.Errorf("the Migration lacks %q:\n%s", text, c.Stdout)
				}
			}
			for _, text := range tc.without {
				if strings.Contains(c.Stdout.String(), text) {
					t.Errorf("the Migration has %q:\n%s", text, c.Stdout)
				}
			}
		})
	}
}

// TestCreateSaysWhoActs: if no manager runs, create prints a warning with the remedy. If that cannot be determined, it
// prints nothing.
func TestCreateSaysWhoActs(t *testing.T) {
	for name, also := range map[string]schema.GroupVersion{"none runs": coordinationv1.SchemeGroupVersion, "it cannot be seen": {}} {
		t.Run(name, func(t *testing.T) {
			served := servedToMove(api.GroupVersion)
			served[appsv1.SchemeGroupVersion]["deployments"] = "Deployment"
			seen := !also.Empty()
			if seen {
				served[also] = map[string]string{"leases": "Lease"}
			}
			east := apitest.Serve(t, served)
			kubeconfig := east.Kubeconfig(t)
			c := newConsole("create", "web", "-n", "shop", "--to-namespace", "store", "--kubeconfig", kubeconfig)
			c.Run(t)
			want := "no manager was found in cluster east, so nothing happens with this Migration until one runs: migrate install --kubeconfig " + kubeconfig + " --context east --image IMAGE; or delete it, and move from here"
			if got := c.Stderr.String(); strings.Contains(got, want) != seen || !seen && got != "" || !strings.Contains(c.Stdout.String(), "/web created\n") {
				t.Errorf("it says %s%s", c.Stdout, got)
			}
		})
	}
}
