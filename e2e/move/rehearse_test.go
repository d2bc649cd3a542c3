package move

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/program"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
)

// rehearse returns the command that rehearses this move. Its pods must not reach the API server of the destination.
func (v *move) rehearse(more ...string) *exec.Cmd {
	v.T.Helper()
	_, server, _ := strings.Cut(v.To.RESTConfig().Host, "://")
	args := append([]string{
		"rehearse", v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig(), "--to-kubeconfig", v.To.Kubeconfig(),
		"--isolated", "it is a test", "--image", "mover", "--forbid", server,
	}, more...)
	return exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), args...)
}

// sourceState returns what a rehearsal must not change. A snapshot sets a finalizer on its claim for a moment, so the
// versions of claims are not compared.
func (v *move) sourceState() map[string]string {
	v.T.Helper()
	state := map[string]string{}
	keep := func(kind string, meta metav1.ObjectMeta, more any) {
		text, err := json.Marshal([]any{meta.UID, meta.Generation, meta.Labels, meta.Annotations, more})
		v.Must(err)
		state[kind+" "+meta.Name] = string(text)
	}
	set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	v.Must(err)
	keep("set", set.ObjectMeta, set.ResourceVersion)
	pods, err := v.Source.CoreV1().Pods(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for i := range pods.Items {
		keep("pod", pods.Items[i].ObjectMeta, pods.Items[i].ResourceVersion)
	}
	claims, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for i := range claims.Items {
		keep("claim", claims.Items[i].ObjectMeta, claims.Items[i].Spec)
		volume, err := v.Source.CoreV1().PersistentVolumes().Get(v.Ctx, claims.Items[i].Spec.VolumeName, metav1.GetOptions{})
		v.Must(err)
		keep("volume", volume.ObjectMeta, volume.ResourceVersion)
	}
	services, err := v.Source.CoreV1().Services(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for i := range services.Items {
		keep("service", services.Items[i].ObjectMeta, services.Items[i].ResourceVersion)
	}
	return state
}

// expectNoRehearsal checks that the source is as before, and that neither cluster nor the storage has anything of a
// rehearsal.
func (v *move) expectNoRehearsal(d *disks, before map[string]string, disks int) {
	v.T.Helper()
	v.expectUntouched(before)
	v.expectNoSnapshots(d)
	v.Eventually("the clones are deleted", func(context.Context) (bool, error) { return len(v.diskIDs(d)) == disks, nil })
	for _, each := range d.clusters {
		client, err := dynamic.NewForConfig(each.RESTConfig())
		v.Must(err)
		contents, err := client.Resource(site.SnapshotVersion.WithResource("volumesnapshotcontents")).List(v.Ctx, metav1.ListOptions{LabelSelector: api.RehearsalLabelKey})
		v.Must(err)
		if len(contents.Items) > 0 {
			v.T.Errorf("left: %d VolumeSnapshotContents in cluster %s", len(contents.Items), each.Name())
		}
	}
	volumes, err := v.Destination.CoreV1().PersistentVolumes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for i := range volumes.Items {
		if ref := volumes.Items[i].Spec.ClaimRef; ref != nil && strings.HasPrefix(ref.Namespace, "rehearsal-") {
			v.T.Errorf("left: volume %s of claim %s/%s", volumes.Items[i].Name, ref.Namespace, ref.Name)
		}
	}
}

// expectUntouched checks that the source is as before, and that the destination has no namespace of a rehearsal.
func (v *move) expectUntouched(before map[string]string) {
	v.T.Helper()
	if diff := cmp.Diff(before, v.sourceState()); diff != "" {
		v.T.Errorf("the source has changed (-before +after):\n%s", diff)
	}
	if left := v.rehearsals(); len(left) > 0 {
		v.T.Errorf("left: namespace %s", left[0].Name)
	}
}

// rehearsals lists the namespaces of rehearsals at the destination.
func (v *move) rehearsals() []corev1.Namespace {
	v.T.Helper()
	list, err := v.Destination.CoreV1().Namespaces().List(v.Ctx, metav1.ListOptions{LabelSelector: api.RehearsalLabelKey})
	v.Must(err)
	return list.Items
}

// flush writes cached data of the running application to its disks, so that a snapshot of the storage has them.
func (v *move) flush() {
	v.T.Helper()
	_, err := program.In{}.Output(v.Ctx, "sync")
	v.Must(err)
}

// TestRehearse: the pods of a rehearsal start on clones with the data of the source, which does not change. The plan
// expects their start, and the report compares it with the move.
func TestRehearse(t *testing.T) {
	d := startSnapshots(t)
	d.enforces.Store(true)
	v := newMove(t, harness.Usual(2), d.app(2), bySnapshot(diskDriver))
	data := v.write("before", v.mounted(v.Here(), d.sites[0]))
	v.flush()
	disks, before := len(v.diskIDs(d)), v.sourceState()

	var result struct {
		Outcome rehearsal.Outcome
		Kept    bool
		Result  rehearsal.Result
	}
	for _, each := range d.clusters {
		v.Must(harness.InstallRoles(each))
	}
	here, there := v.rehearser("rehearser", "sliceshift-rehearser-destination")
	run := as(v.rehearse("-o", "json"), here, there)
	out, err := run.Output()
	if code := codeOf(err); code != 0 {
		t.Fatalf("code %d:\n%s%s", code, out, stderrOf(err))
	}
	v.Must(json.Unmarshal(out, &result))
	if r := result.Result; result.Outcome != rehearsal.Rehearsed || result.Kept || len(r.Pods) != 2 || len(r.Denied) != 1 {
		t.Errorf("%+v", result)
	}
	v.expectNoRehearsal(d, before, disks)

	if text := v.exits(v.rehearse("--keep"), 0); !strings.Contains(text, "are kept in namespace") {
		t.Errorf("what is kept is not shown:\n%s", text)
	}
	stages := v.rehearsals()
	if len(stages) != 1 {
		t.Fatalf("%d namespaces are kept", len(stages))
	}
	kept := v.There()
	kept.Namespace = stages[0].Name
	v.same(data, v.mounted(kept, d.sites[1]))
	if text := v.exits(v.rehearse(), 3); !strings.Contains(text, "--clean") {
		t.Errorf("the way to delete what is kept is not shown:\n%s", text)
	}
	v.exits(v.rehearse("--clean"), 0)
	v.expectNoRehearsal(d, before, disks)
	v.exits(v.rehearse("--clean"), 0)

	expected := v.expectedOutage(v.movedBySnapshot("plan", d, "-o", "json"))
	v.exits(v.movedBySnapshot("run", d), 0)
	v.ExpectMoved()
	v.expectCompared(expected)
	v.Audit()
}

// movedBySnapshot returns a command for the move of the disks.
func (v *move) movedBySnapshot(verb string, d *disks, more ...string) *exec.Cmd {
	v.T.Helper()
	args := append([]string{
		verb, v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig(), "--to-kubeconfig", d.clusters[1].Kubeconfig(),
		"--create-namespace", "--volume", "data=snapshot",
	}, more...)
	return exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), args...)
}

func stderrOf(err error) string {
	if exit, is := err.(*exec.ExitError); is { //nolint:errorlint // of a command that this test has run
		return string(exit.Stderr)
	}
	return ""
}

// TestRehearseWithoutVolumes: the isolation is proven before the first pod. A rehearsal that is refused, interrupted or
// killed leaves nothing, at once or after --clean, and it never changes the source.
func TestRehearseWithoutVolumes(t *testing.T) {
	treetest.NeedRoot(t)
	app := fixture.App{Replicas: 3, MaxUnavailable: harness.IntOrString("1")}
	v := newMove(t, app, harness.AcrossClusters, func(v *harness.Move) { v.Limit = 8 * time.Minute })
	harness.Player(t, v.To)
	before := v.sourceState()
	if text := v.exits(v.rehearse(), 3); !strings.Contains(text, rehearsal.ReasonNotIsolated) || !strings.Contains(text, "nothing in the destination's cluster enforces policies") {
		t.Errorf("no policy is enforced, and it says\n%s", text)
	}
	v.expectUntouched(before)
	harness.EnforcePolicies(t)
	if text := v.exits(v.rehearse("--forbid", "127.0.0.1:1"), 0); !strings.Contains(text, "was rehearsed in cluster") || !strings.Contains(text, "web-2") {
		t.Errorf("it says\n%s", text)
	}
	v.expectUntouched(before)
	if text := v.exits(v.cli("plan"), 0); !strings.Contains(text, "start rehearsed with 3 pods") {
		t.Errorf("the plan does not know the rehearsal:\n%s", text)
	}
	t.Run("its recipe forbids it", func(t *testing.T) {
		cmd := exec.CommandContext(v.Ctx, harness.Program(t, "migrate"), "rehearse", v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig(),
			"--to-kubeconfig", v.To.Kubeconfig(), "--recipe", "etcd", "--image", "mover", "--forbid", "127.0.0.1:1")
		if text := v.exits(cmd, 3); !strings.Contains(text, "NeverRehearsed") || !strings.Contains(text, "two members") {
			t.Errorf("it says\n%s", text)
		}
		v.expectUntouched(before)
	})
	t.Run("the StatefulSet is deleted", func(t *testing.T) {
		cmd := v.rehearse("--ready-within", "5m", "--keep")
		v.Must(child.Start(cmd))
		v.Eventually("the pods are created", v.hasPod)
		at := v.rehearsals()[0].Name
		v.Must(v.Destination.AppsV1().StatefulSets(at).Delete(v.Ctx, v.App.Name, metav1.DeleteOptions{}))
		if code := codeOf(cmd.Wait()); code != 3 {
			t.Errorf("it ended with %d", code)
		}
		v.exits(v.rehearse("--clean"), 0)
		v.expectUntouched(before)
	})
	t.Run("no address is reached", func(t *testing.T) {
		cmd := exec.CommandContext(v.Ctx, harness.Program(t, "migrate"), "rehearse", v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig(),
			"--to-kubeconfig", v.To.Kubeconfig(), "--isolated", "it is a test", "--image", "mover", "--forbid", "127.0.0.1:1")
		if text := v.exits(cmd, 3); !strings.Contains(text, rehearsal.ReasonNotProven) {
			t.Errorf("it says\n%s", text)
		}
		v.expectUntouched(before)
	})
	t.Run("another policy appears", func(t *testing.T) {
		cmd := v.rehearse()
		v.Must(child.Start(cmd))
		v.Eventually("the namespace exists", func(context.Context) (bool, error) { return len(v.rehearsals()) == 1, nil })
		allow := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "allow"}, Spec: networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{}}}}
		_, err := v.Destination.NetworkingV1().NetworkPolicies(v.rehearsals()[0].Name).Create(v.Ctx, allow, metav1.CreateOptions{})
		v.Must(err)
		if code := codeOf(cmd.Wait()); code != 3 {
			t.Errorf("it ended with %d", code)
		}
		v.expectUntouched(before)
	})
	t.Run("kept", func(t *testing.T) {
		v.exits(v.rehearse("--keep"), 0)
		if len(v.rehearsals()) != 1 {
			t.Error("nothing is kept")
		}
		if text := v.exits(v.rehearse(), 3); !strings.Contains(text, "--clean") {
			t.Errorf("the way to delete it is not shown:\n%s", text)
		}
		v.exits(v.rehearse("--clean"), 0)
		v.expectUntouched(before)
	})
	for name, tc := range map[string]struct {
		signal syscall.Signal
		code   int
	}{"interrupted": {syscall.SIGINT, 1}, "killed": {syscall.SIGKILL, -1}} {
		t.Run(name, func(t *testing.T) {
			cmd := v.rehearse()
			v.Must(child.Start(cmd))
			v.Eventually("the pods are created", v.hasPod)
			v.Must(cmd.Process.Signal(tc.signal))
			if code := codeOf(cmd.Wait()); code != tc.code {
				t.Errorf("it ended with %d, want %d", code, tc.code)
			}
			if tc.signal == syscall.SIGKILL {
				v.exits(v.rehearse("--clean"), 0)
			}
			v.expectUntouched(before)
		})
	}
}

// hasPod waits for a pod of the application in the namespace of a rehearsal.
func (v *move) hasPod(ctx context.Context) (bool, error) {
	for _, namespace := range v.rehearsals() {
		pods, err := v.Destination.CoreV1().Pods(namespace.Name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return strings.HasPrefix(p.Name, v.App.Name+"-") }) {
			return true, nil
		}
	}
	return false, nil
}

// TestRehearseEnds: a rehearsal that is refused, interrupted or killed leaves nothing, at once or after the next
// --clean.
func TestRehearseEnds(t *testing.T) {
	d := startSnapshots(t)
	v := newMove(t, harness.Usual(1), d.app(1))
	disks, before := len(v.diskIDs(d)), v.sourceState()
	t.Run("no policy is enforced", func(t *testing.T) {
		d.enforces.Store(false)
		if text := v.exits(v.rehearse(), 3); !strings.Contains(text, rehearsal.ReasonNotIsolated) || !strings.Contains(text, "nothing in the destination's cluster enforces policies") {
			t.Errorf("it says\n%s", text)
		}
		v.expectNoRehearsal(d, before, disks)
	})
	d.enforces.Store(true)
	t.Run("some addresses are not reached anyway", func(t *testing.T) {
		if text := v.exits(v.rehearse("--forbid", "127.0.0.1:1", "--forbid", "127.0.0.1:2"), 0); !strings.Contains(text, "was rehearsed") {
			t.Errorf("one of several addresses that is reached is enough, and it says\n%s", text)
		}
		v.expectNoRehearsal(d, before, disks)
	})
	for _, tc := range []struct {
		name   string
		signal syscall.Signal
		code   int
		at     func(context.Context) (bool, error)
	}{
		{"interrupted at the first snapshot", syscall.SIGINT, 1, v.hasSnapshot(d)},
		{"killed in the middle", syscall.SIGKILL, -1, v.hasClone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := v.rehearse()
			v.Must(child.Start(cmd))
			v.Eventually(tc.name, tc.at)
			v.Must(cmd.Process.Signal(tc.signal))
			if code := codeOf(cmd.Wait()); code != tc.code {
				t.Errorf("it ended with %d, want %d", code, tc.code)
			}
			if tc.signal == syscall.SIGKILL {
				v.exits(v.rehearse("--clean"), 0)
			}
			v.expectNoRehearsal(d, before, disks)
		})
	}
	t.Run("killed, and rehearsed again", func(t *testing.T) {
		cmd := v.rehearse()
		v.Must(child.Start(cmd))
		v.Eventually("the clone exists", v.hasClone)
		v.Must(cmd.Process.Kill())
		_ = cmd.Wait()
		if text := v.exits(v.rehearse(), 0); !strings.Contains(text, "deleting what the rehearsal of") {
			t.Errorf("it says\n%s", text)
		}
		v.expectNoRehearsal(d, before, disks)
	})
	t.Run("a namespace of another", func(t *testing.T) {
		name := "rehearsal-web-" + rand.String(5)
		_, err := v.Destination.CoreV1().Namespaces().Create(v.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		v.Must(err)
		v.exits(v.rehearse(), 0)
		if _, err := v.Destination.CoreV1().Namespaces().Get(v.Ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			t.Error("it is deleted")
		}
	})
}

// hasSnapshot waits for a snapshot at the source.
func (v *move) hasSnapshot(d *disks) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		there, err := v.snapshots(ctx, d)
		return len(there) > 0, err
	}
}

// hasClone waits for a claim of a rehearsal.
func (v *move) hasClone(ctx context.Context) (bool, error) {
	claims, err := v.Destination.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{LabelSelector: api.RehearsalLabelKey})
	return err == nil && len(claims.Items) > 0, err
}
