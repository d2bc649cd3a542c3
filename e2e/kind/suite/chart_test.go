package suite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/internal/tool"
)

// root is the folder of the repository.
const root = "../../.."

// TestChart installs the manager into east as docs/install.md says, in place of the one that is there: by the chart,
// which is then upgraded and removed, and by kustomize, which stays. Each moves an application, as a pod with real
// kubelets. No other test runs beside it: those wait for the tests that are not parallel.
func TestChart(t *testing.T) {
	if pair.Own() {
		t.Skip("it would take away the manager of clusters that are not the suite's")
	}
	repository, tag, found := strings.Cut(managerImage, ":")
	if !found {
		t.Fatalf("image %s has no tag", managerImage)
	}
	values := fmt.Sprintf("image.repository=%s,image.tag=%s,config.volumes.allowPaths=true", repository, tag)
	helm := func(args ...string) {
		t.Helper()
		path, err := tool.Path(t.Context(), "helm")
		if err != nil {
			t.Fatal(err)
		}
		runs(t, exec.CommandContext(t.Context(), path, append(args, "-n", setup.ManagerNamespace, "--wait", "--timeout", "3m", "--kubeconfig", pair.East.Kubeconfig)...))
	}
	helm("install", "sliceshift", root+"/charts/sliceshift", "--create-namespace", "--take-ownership", "--force-conflicts", "--set", values)
	movesByManager(t, "by the manager of the chart")
	// The suite has written the replicas of the Deployment that was there before, and still owns them besides helm.
	helm("upgrade", "sliceshift", root+"/charts/sliceshift", "--force-conflicts", "--set", values+",replicas=1,config.logLevel=debug,policies.fence=true")
	movesByManager(t, "by the manager of the upgraded chart")
	helm("uninstall", "sliceshift")
	_, err := pair.East.Client.AppsV1().Deployments(setup.ManagerNamespace).Get(t.Context(), setup.ManagerName, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the manager is still there: %v", err)
	}
	kustomize(t, repository, tag)
	if err := setup.AwaitManager(t.Context(), pair.East); err != nil {
		t.Fatal(err)
	}
	movesByManager(t, "by the manager of kustomize")
}

// runs has a program run to its end.
func runs(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(cmd.Args, " "), err, out)
	}
}

// movesByManager moves an application by the manager of east.
func movesByManager(t *testing.T, how string) {
	t.Helper()
	v := deploy(t, usual())
	v.grant()
	v.watch()
	v.must(v.reachFrom(pair.East))
	v.completes(pair.East)
	v.audit(v.expectMoved(), how)
}

// overlay is what a user of kustomize writes.
const overlay = `resources: [%s]
images:
- {name: sliceshift-manager, newName: %s, newTag: %s}
patches:
- target: {kind: Deployment, name: sliceshift-manager}
  patch: |
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: SLICESHIFT_VOLUMES_ALLOW_PATHS, value: "true"}}
`

// kustomize applies config/ with another image.
func kustomize(t *testing.T, repository, tag string) {
	t.Helper()
	dir := t.TempDir()
	config, err := filepath.Abs(root + "/config")
	if err == nil {
		config, err = filepath.Rel(dir, config) // kustomize takes no absolute path
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), fmt.Appendf(nil, overlay, config, repository, tag), 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := cluster.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	runs(t, cluster.Kubectl(t.Context(), binary, pair.East.Kubeconfig, "apply", "--server-side", "--force-conflicts", "-k", dir))
}
