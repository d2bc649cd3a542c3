package move

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/internal/clusters"
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

// TestUnattended: a manager that leads, or has an available replica, is found. Without permission to look, none is
// missed.
func TestUnattended(t *testing.T) {
	lease := func(holder string, ago time.Duration, name string) client.Object {
		l := &unstructured.Unstructured{}
		l.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
		l.SetNamespace("anywhere")
		l.SetName(name)
		l.Object["spec"] = map[string]any{"holderIdentity": holder, "renewTime": commandtest.Noon.Add(-ago).Format("2006-01-02T15:04:05.000000Z07:00")}
		return l
	}
	deployment := func(available int32) client.Object {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "tools", Name: "mover", Labels: map[string]string{"app.kubernetes.io/name": "sliceshift", "app.kubernetes.io/component": "manager"}}}
		d.Status.AvailableReplicas = available
		return d
	}
	other := deployment(1)
	other.SetLabels(nil)
	refuses := func(kind string) interceptor.Funcs {
		return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if gvk, err := c.GroupVersionKindFor(list); err == nil && gvk.Kind == kind {
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right"))
			}
			return c.List(ctx, list, options...)
		}}
	}
	for name, tc := range map[string]struct {
		hooks interceptor.Funcs
		there []client.Object
		want  string
	}{
		"nothing is there":            {interceptor.Funcs{}, nil, "no manager was found in cluster east"},
		"one leads":                   {interceptor.Funcs{}, []client.Object{lease("a", time.Second, "sliceshift")}, ""},
		"one has led":                 {interceptor.Funcs{}, []client.Object{lease("a", time.Hour, "sliceshift")}, "no manager was found in cluster east"},
		"it was given up":             {interceptor.Funcs{}, []client.Object{lease("", time.Second, "sliceshift")}, "no manager was found in cluster east"},
		"somebody else leads":         {interceptor.Funcs{}, []client.Object{lease("a", time.Second, "another")}, "no manager was found in cluster east"},
		"one is available":            {interceptor.Funcs{}, []client.Object{deployment(1)}, ""},
		"none is available":           {interceptor.Funcs{}, []client.Object{deployment(0)}, "the manager of cluster east, Deployment tools/mover, has no available replica"},
		"another Deployment":          {interceptor.Funcs{}, []client.Object{other}, "no manager was found in cluster east"},
		"Leases may not be read":      {refuses("LeaseList"), nil, ""},
		"Deployments may not be read": {refuses("DeploymentList"), nil, ""},
	} {
		c := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(tc.there...).WithInterceptorFuncs(tc.hooks).Build()
		if got := unattended(t.Context(), c, "east", commandtest.Noon); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
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
