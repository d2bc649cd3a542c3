package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/internal/tool"
	"github.com/sliceshift/sliceshift/volumes"
)

// root is the path of the repository.
const root = "../../.."

// TestChart replaces the manager in east as docs/install.md describes, by the chart and by kustomize. Each is upgraded
// in the middle of a move, with an ordinal that is down and with a running copy. The upgraded manager must resume both
// where its predecessor left them, and nothing is lost. Each installation is then removed, and the objects of its
// users remain. The test is not parallel, so no other test runs at the same time.
func TestChart(t *testing.T) {
	if pair.Own() {
		t.Skip("it would take away the manager of clusters that are not the suite's")
	}
	repository, tag, found := strings.Cut(managerImage, ":")
	if !found {
		t.Fatalf("image %s has no tag", managerImage)
	}
	t.Cleanup(func() { // for the later tests
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(setup.Manager(ctx, pair.East, managerImage), setup.AwaitManager(ctx, pair.East)); err != nil {
			t.Error(err)
		}
	})
	byChart(t, repository, tag)
	byKustomize(t, repository, tag)
}

// byChart upgrades the chart while an ordinal is down. Its container crashes at the destination until the upgraded
// manager has taken over.
func byChart(t *testing.T, repository, tag string) {
	t.Helper()
	values := fmt.Sprintf("image.repository=%s,image.tag=%s,config.volumes.allowPaths=true", repository, tag)
	helm(t, "install", "sliceshift", root+"/charts/sliceshift", "--create-namespace", "--take-ownership", "--force-conflicts", "--set", values)
	v := deploy(t, usual())
	v.troubleInWest("CRASH", "until the manager is another one")
	v.grant()
	v.watch()
	v.must(v.reachFrom(pair.East))
	v.starts(pair.East)
	v.must(v.awaitPod(pair.West, "web-2", func(pod *corev1.Pod) bool {
		return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount > 0
	}))
	before := v.managers()
	// The suite has applied the replicas of the previous Deployment, and still owns them together with helm.
	helm(t, "upgrade", "sliceshift", root+"/charts/sliceshift", "--force-conflicts", "--set", values+",replicas=1,config.logLevel=debug,policies.fence=true")
	v.takenUp(before, func() bool { return v.m.Status.Handoff != nil && v.m.Status.Handoff.Ordinal == 2 })
	v.must(v.cure())
	v.completes()
	v.audit(v.expectMoved(), "the chart is upgraded while an ordinal is down")
	helm(t, "uninstall", "sliceshift")
	v.expectNoManager()
}

// byKustomize upgrades during a copy of a disk. The copy is kept warm until the upgraded manager has taken over.
func byKustomize(t *testing.T, repository, tag string) {
	t.Helper()
	kustomize(t, repository, tag, "info")
	if err := setup.AwaitManager(t.Context(), pair.East); err != nil {
		t.Fatal(err)
	}
	v := deploy(t, usual())
	v.grant()
	for _, c := range pair.Both() {
		v.must(setup.MoverMay(v.ctx, c, v.app.namespace, setup.RunsPods))
	}
	v.watch("data")
	v.must(v.reachFrom(pair.East))
	class := "disks-" + v.app.namespace
	v.must(v.disks(class))
	v.m.Spec.Volumes = []api.VolumeSpec{{
		ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: &class,
		Copy: api.CopySpec{Image: managerImage, ServiceType: corev1.ServiceTypeNodePort, Cutover: api.CutoverManual},
	}}
	v.starts(pair.East)
	warm := func() bool {
		stalled := meta.FindStatusCondition(v.m.Status.Conditions, api.ConditionStalled)
		return stalled != nil && stalled.Reason == volumes.ReasonCopyAwaitsWord
	}
	v.awaitMigration("its copy is kept warm", warm)
	before := v.managers()
	kustomize(t, repository, tag, "debug")
	v.takenUp(before, func() bool { return v.m.Status.Moved == 0 })
	v.awaitMigration("its copy is kept warm again", warm)
	v.kubectl("patch", "migration", name, "-n", v.app.namespace, "--type=json", "-p", `[{"op":"replace","path":"/spec/volumes/0/copy/cutover","value":"Now"}]`)
	v.completes()
	v.audit(v.expectMoved(), "kustomize upgrades while a disk is copied")
	v.expectSealed(class)
	v.expectNoMovers()
	out, err := exec.CommandContext(v.ctx, command(t), "uninstall", "--kubeconfig", pair.East.Kubeconfig).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "migrations.migration.sliceshift.io stays") {
		t.Errorf("uninstall: %v: %s", err, out)
	}
	v.expectNoManager()
}

// managers returns the names of the manager's pods.
func (v *move) managers() map[string]bool {
	v.t.Helper()
	pods, err := pair.East.Client.CoreV1().Pods(setup.ManagerNamespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	names := map[string]bool{}
	for i := range pods.Items {
		names[pods.Items[i].Name] = true
	}
	return names
}

// takenUp waits until a manager that is not in before drives the move, and the managers of before have ended. The move
// must then be in the state in which it was.
func (v *move) takenUp(before map[string]bool, stands func() bool) {
	v.t.Helper()
	const unique = len("-00000000-0000-0000-0000-000000000000") // the suffix of the pod's name
	v.awaitMigration("a manager of the upgrade drives it", func() bool {
		holder := v.m.Status.Fence.Holder
		if len(holder) <= unique || before[holder[:len(holder)-unique]] {
			return false
		}
		for pod := range v.managers() {
			if before[pod] {
				return false
			}
		}
		return true
	})
	if !stands() {
		v.t.Errorf("the move has gone on before the manager was another one: %+v", v.m.Status)
	}
	v.t.Logf("%s has taken it up from %v, as epoch %d", v.m.Status.Fence.Holder, slices.Sorted(maps.Keys(before)), v.m.Status.Fence.Epoch)
}

// expectNoManager checks that of the installed objects only those of users remain.
func (v *move) expectNoManager() {
	v.t.Helper()
	_, err := pair.East.Client.AppsV1().Deployments(setup.ManagerNamespace).Get(v.ctx, setup.ManagerName, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		v.t.Errorf("the manager is still there: %v", err)
	}
	v.awaitMigration("it is still known", func() bool { return meta.IsStatusConditionTrue(v.m.Status.Conditions, api.ConditionCompleted) })
}

// kubectl runs kubectl on east.
func (v *move) kubectl(args ...string) {
	v.t.Helper()
	binary, err := cluster.Build(v.ctx, os.Stderr)
	v.must(err)
	runs(v.t, cluster.Kubectl(v.ctx, binary, pair.East.Kubeconfig, args...))
}

// helm runs helm on east, and waits for its end.
func helm(t *testing.T, args ...string) {
	t.Helper()
	path, err := tool.Path(t.Context(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	runs(t, exec.CommandContext(t.Context(), path, append(args, "-n", setup.ManagerNamespace, "--wait", "--timeout", "3m", "--kubeconfig", pair.East.Kubeconfig)...))
}

// runs executes a program to its end.
func runs(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(cmd.Args, " "), err, out)
	}
}

// overlay is the kustomization of a user.
const overlay = `resources: [%s]
images:
- {name: sliceshift-manager, newName: %s, newTag: %s}
patches:
- target: {kind: Deployment, name: sliceshift-manager}
  patch: |
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: SLICESHIFT_VOLUMES_ALLOW_PATHS, value: "true"}}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: SLICESHIFT_LOG_LEVEL, value: %s}}
`

// kustomize applies config/ with another image and another log level.
func kustomize(t *testing.T, repository, tag, level string) {
	t.Helper()
	dir := t.TempDir()
	config, err := filepath.Abs(root + "/config")
	if err == nil {
		config, err = filepath.Rel(dir, config) // kustomize rejects absolute paths
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), fmt.Appendf(nil, overlay, config, repository, tag, level), 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := cluster.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	runs(t, cluster.Kubectl(t.Context(), binary, pair.East.Kubeconfig, "apply", "--server-side", "--force-conflicts", "-k", dir))
}
