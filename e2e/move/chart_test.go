package move

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/internal/tool"
)

const (
	chartDir         = "../../charts/sliceshift"
	managerNamespace = "sliceshift-system"
	managerName      = "sliceshift-manager"
)

// TestChart installs, upgrades and uninstalls the chart while five replicas move. It upgrades from an older
// chart while an ordinal moves, uninstalls while an ordinal moves, and uninstalls while the move is paused. The
// manager starts and stops as the Deployment specifies. No ordinal runs twice, at most one is down, a paused
// application runs completely, and the move continues each time.
func TestChart(t *testing.T) {
	t.Parallel()
	b := startBare(t, "chart", cluster.Options{})
	b.helm("install", "sliceshift", olderChart(t), "-n", managerNamespace, "--create-namespace", "--wait", "--set", "image.tag=v1")
	if b.categories() != 0 {
		t.Fatal("the older chart has what the new one brings")
	}
	harness.Program(t, "migrate") // the build takes as long as a handoff
	v := newMove(t, harness.Usual(5), within(b.Cluster), func(v *harness.Move) {
		v.Limit = 3 * harness.TimeLimit()
		v.Migration.Spec.Handoff.MinReadySeconds = new(int32(4))
	})
	v.Grant(v.Source, rbacv1.Subject{Kind: "ServiceAccount", Namespace: v.App.Namespace, Name: "default"})
	m := b.deployed(v, "sliceshift-manager:v1")
	v.Must(b.client.Create(v.Ctx, v.Migration))
	b.upgradesInMidMove(v, m)
	b.removedInMidMove(v, m)
	b.removedWhenPaused(v, m)
	v.Await(b.client, api.ConditionCompleted, metav1.ConditionTrue)
	v.ExpectMovedCleanly()
	b.kustomized(v)
}

// upgradesInMidMove upgrades to another image, other settings and newer definitions while an ordinal moves.
func (b *bare) upgradesInMidMove(v *move, m *harness.Manager) {
	b.t.Helper()
	v.awaitFewer(5)
	b.ends(m)
	b.helm("upgrade", "sliceshift", chartDir, "-n", managerNamespace, "--wait", "--set", "image.tag=v2,replicas=1,config.logLevel=debug,config.concurrency=7")
	if b.categories() == 0 {
		b.t.Error("the definitions are as they were")
	}
	*m = *b.deployed(v, "sliceshift-manager:v2")
}

// removedInMidMove uninstalls while an ordinal moves. The ordinal remains down until the next installation,
// because no manager runs that could start it.
func (b *bare) removedInMidMove(v *move, m *harness.Manager) {
	b.t.Helper()
	v.awaitFewer(4)
	b.ends(m)
	b.says(b.helm("uninstall", "sliceshift", "-n", managerNamespace, "--wait"), "migrations.migration.sliceshift.io", "statefulsets.apps.sliceshift.io")
	b.expectRemoved()
	if running := v.running(b); running < 4 {
		b.t.Errorf("%d of 5 run", running)
	}
	b.helm("install", "sliceshift", chartDir, "-n", managerNamespace, "--wait", "--set", "image.tag=v2,policies.fence=true,policies.volumes=true")
	*m = *b.deployed(v, "sliceshift-manager:v2")
}

// removedWhenPaused uninstalls after a pause. The pause has started all replicas again, so no manager is
// needed.
func (b *bare) removedWhenPaused(v *move, m *harness.Manager) {
	b.t.Helper()
	v.awaitFewer(3)
	b.migrate(0, "pause", v.App.Name, "-n", v.App.Namespace)
	at := &api.Migration{}
	v.Eventually("the move rests", func(ctx context.Context) (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(v.Migration), at)
		return records.AtRest(at), err
	})
	b.ends(m)
	b.helm("uninstall", "sliceshift", "-n", managerNamespace, "--wait")
	b.expectRemoved()
	if at.Status.Moved < 2 || at.Status.Moved > 4 {
		b.t.Errorf("%d have moved: this is no middle", at.Status.Moved)
	}
	v.Must(v.App.AwaitReady(v.Ctx, v.Source))
	v.Must(fixture.App{Namespace: v.ToNamespace, Name: v.ToName}.AwaitReady(v.Ctx, v.Destination))
	if running := v.running(b); running != 5 {
		b.t.Errorf("%d of 5 run", running)
	}
	b.helm("install", "sliceshift", chartDir, "-n", managerNamespace, "--wait", "--set", "image.tag=v3")
	*m = *b.deployed(v, "sliceshift-manager:v3")
	b.migrate(0, "resume", v.App.Name, "-n", v.App.Namespace)
}

// kustomized checks that each way of installing takes over the objects of another way.
func (b *bare) kustomized(v *move) {
	b.t.Helper()
	b.helm("uninstall", "sliceshift", "-n", managerNamespace, "--wait")
	out, err := b.Kubectl(v.Ctx, "apply", "--server-side", "--force-conflicts", "-k", "../../config").CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
	b.says(string(out), "deployment.apps/sliceshift-manager serverside-applied")
	b.says(b.migrate(0, "install", "--force-conflicts", "--image", "sliceshift-manager:v4"), "-> sliceshift-manager:v4")
	b.helm("install", "sliceshift", chartDir, "-n", managerNamespace, "--take-ownership", "--force-conflicts", "--wait", "--set", "image.tag=v5")
	b.deployed(v, "sliceshift-manager:v5")
}

// helm runs helm on the cluster and returns its output.
func (b *bare) helm(args ...string) string {
	b.t.Helper()
	path, err := tool.Path(b.t.Context(), "helm")
	if err != nil {
		b.t.Fatal(err)
	}
	var out bytes.Buffer
	dir := b.t.TempDir()
	cmd := exec.CommandContext(b.t.Context(), path, append(args, "--kubeconfig", b.Kubeconfig())...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := child.Start(cmd); err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.t.Fatalf("helm %s: %v: %s", strings.Join(args, " "), err, out.String())
	}
	return out.String()
}

// olderChart returns a possible older version of the chart, whose resource definition lacks a property.
func olderChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sliceshift")
	if _, err := (program.In{}).Output(t.Context(), "cp", "-rL", chartDir, dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "files", "crd", "migration.sliceshift.io_migrations.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	older := bytes.Replace(data, []byte("    categories:\n    - sliceshift\n"), nil, 1)
	if err := os.WriteFile(path, older, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// categories returns the number of categories in the definition of Migrations.
func (b *bare) categories() int {
	b.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.client.Get(b.t.Context(), client.ObjectKey{Name: "migrations.migration.sliceshift.io"}, crd); err != nil {
		b.t.Fatal(err)
	}
	return len(crd.Spec.Names.Categories)
}

// deployed starts a manager with the settings, the environment and the account that the Deployment gives to its
// pods.
func (b *bare) deployed(v *move, image string) *harness.Manager {
	b.t.Helper()
	deployment := &appsv1.Deployment{}
	v.Must(b.client.Get(v.Ctx, client.ObjectKey{Namespace: managerNamespace, Name: managerName}, deployment))
	pod := deployment.Spec.Template.Spec
	if got := pod.Containers[0].Image; got != image {
		b.t.Fatalf("the image is %s, want %s", got, image)
	}
	m := harness.ManagerWith(b.t, b.accountKubeconfig(managerNamespace, pod.ServiceAccountName), v.App.Namespace, "manager-"+image[strings.LastIndex(image, ":")+1:]+".log")
	for _, arg := range pod.Containers[0].Args {
		if strings.HasPrefix(arg, "--config=") {
			arg = "--config=" + b.settings(v)
		}
		m.Args = append(m.Args, arg)
	}
	for _, each := range pod.Containers[0].Env {
		m.Env = append(m.Env, each.Name+"="+each.Value)
	}
	m.Run()
	return m
}

// settings writes the file that the Deployment mounts, and returns its path.
func (b *bare) settings(v *move) string {
	b.t.Helper()
	settings := &corev1.ConfigMap{}
	v.Must(b.client.Get(v.Ctx, client.ObjectKey{Namespace: managerNamespace, Name: managerName}, settings))
	path := filepath.Join(b.t.TempDir(), "config.yaml")
	v.Must(os.WriteFile(path, []byte(settings.Data["config.yaml"]), 0o600))
	return path
}

// ends terminates a manager with SIGTERM, as the kubelet does.
func (b *bare) ends(m *harness.Manager) {
	b.t.Helper()
	if err := m.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.t.Fatal(err)
	}
	_ = m.Cmd.Wait() // the exit code does not matter to the next manager
}

// expectRemoved checks that only the definitions remain of the installation.
func (b *bare) expectRemoved() {
	b.t.Helper()
	for name := range b.versions() {
		if name != "Namespace "+managerNamespace {
			b.t.Errorf("%s is left", name)
		}
	}
	if err := b.client.List(b.t.Context(), &api.MigrationList{}); err != nil {
		b.t.Errorf("the Migrations went, too: %v", err)
	}
}

// running returns the number of Ready replicas on both sides.
func (v *move) running(b *bare) int {
	b.t.Helper()
	ready := 0
	for _, at := range []harness.Endpoint{v.Here(), v.There()} {
		set := &appsv1.StatefulSet{}
		err := b.client.Get(v.Ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Set}, set)
		v.Must(client.IgnoreNotFound(err))
		ready += int(set.Status.ReadyReplicas)
	}
	return ready
}
