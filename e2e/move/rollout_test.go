package move

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestRolloutCommand tests the rollout commands for our own kind, which correspond to kubectl rollout. It runs
// them in sequence on one set of three pods.
func TestRolloutCommand(t *testing.T) {
	t.Parallel()
	v := newKindMove(t, [2]string{slice, slice})
	for _, step := range []struct {
		name string
		run  func(*move)
	}{
		{"U-03: history has the cause of a change, and the template of each revision", (*move).rolloutHistory},
		{"U-03: undo of a canary leaves the other pods alone", (*move).undoCanary},
		{"U-03: undo in mid-roll-out goes back to the current revision, not to the failed one before", (*move).undoStuck},
		{"U-03: undo to a revision, and not to an unknown one", (*move).undoTo},
		{"U-03: what is paused is updated after resume", (*move).pauseAndResume},
		{"U-03: restart makes every pod anew", (*move).restartAll},
		{"U-03: with OnDelete there is no end to wait for", (*move).statusOnDelete},
	} {
		if !t.Run(step.name, func(t *testing.T) { v.within(t, step.run) }) {
			return
		}
	}
}

// within runs a part of a test as a subtest.
func (v *move) within(t *testing.T, run func(*move)) {
	t.Helper()
	outer := v.T
	defer func() { v.T = outer }()
	v.T = t
	run(v)
}

// rollout runs a rollout command and checks its exit code and output.
func (v *move) rollout(code int, text, verb string, more ...string) string {
	v.T.Helper()
	args := append([]string{"rollout", verb, v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig()}, more...)
	out := v.exits(exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), args...), code)
	if !strings.Contains(out, text) {
		v.T.Errorf("rollout %s says %q, want %q in it", verb, out, text)
	}
	return out
}

// edit rolls out a revision, with the given update strategy if there is one.
func (v *move) edit(revision, spec string) {
	v.T.Helper()
	v.Must(v.patchKind(v.Here(), slice, `{"metadata":{"annotations":{"kubernetes.io/change-cause":"to `+revision+`"}},`+
		`"spec":{`+spec+`"template":{"metadata":{"annotations":{"revision":"`+revision+`"}}}}}`))
}

// podRevisions returns UID and revision of the source's pods, by name.
func (v *move) podRevisions() map[string][2]string {
	v.T.Helper()
	found := map[string][2]string{}
	for _, pod := range v.sourcePods() {
		found[pod.Name] = [2]string{string(pod.UID), pod.Annotations["revision"]}
	}
	return found
}

// expectPods compares the revisions of the pods, and checks which pods remain the same.
func (v *move) expectPods(before map[string][2]string, revision string, same ...string) {
	v.T.Helper()
	for name, now := range v.podRevisions() {
		if now[1] != revision {
			v.T.Errorf("%s has revision %q, want %q", name, now[1], revision)
		}
		if kept := now[0] == before[name][0]; kept != slices.Contains(same, name) {
			v.T.Errorf("%s is the pod from before: %v", name, kept)
		}
	}
}

func (v *move) rolloutHistory() {
	v.rollout(0, "1         <none>\n", "history")
	v.edit("2", "")
	v.rollout(0, "complete 3 pods at revision", "status", "--timeout", "1m")
	v.rollout(0, "REVISION  CHANGE-CAUSE\n1         <none>\n2         to 2\n", "history")
	v.rollout(0, `revision: "2"`, "history", "--revision", "2")
	if first := v.rollout(0, "with revision #1\nPod Template:\n", "history", "--revision=1"); strings.Contains(first, "revision: ") {
		v.T.Errorf("revision 1 is shown with what 2 has added: %s", first)
	}
	v.rollout(1, "unable to find specified revision 7 in history", "history", "--revision", "7")
}

func (v *move) undoCanary() {
	before := v.podRevisions()
	v.edit("3", `"updateStrategy":{"rollingUpdate":{"partition":2}},`)
	v.rollout(0, "partitioned roll out complete: 1 new pods have been updated...", "status", "--timeout", "1m")
	v.rollout(0, "rolled back", "undo")
	v.rollout(0, "roll out complete", "status", "--timeout", "1m")
	v.expectPods(before, "2", "web-0", "web-1")
	v.Must(v.patchKind(v.Here(), slice, `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`))
	v.rollout(0, "complete 3 pods at revision", "status", "--timeout", "1m")
}

func (v *move) undoStuck() {
	before := v.podRevisions()
	for _, revision := range []string{"4", "5"} {
		v.Must(v.patchKind(v.Here(), slice, `{"spec":{"template":{"metadata":{"annotations":{"e2e.sliceshift.io/ready-delay":"1h"}}}}}`))
		v.edit(revision, "")
		v.rollout(4, "Waiting for 1 pods to be ready...", "status", "--timeout", "3s")
	}
	v.rollout(0, "Waiting for 1 pods to be ready...", "status", "--watch=false")
	v.rollout(0, `revision: "2"`, "undo", "--dry-run")
	v.rollout(0, "rolled back", "undo")
	v.rollout(0, "complete 3 pods at revision", "status", "--timeout", "1m")
	v.expectPods(before, "2", "web-0", "web-1")
}

func (v *move) undoTo() {
	before := v.podRevisions()
	v.rollout(1, "unable to find specified revision 99 in history", "undo", "--to-revision", "99")
	v.expectPods(before, "2", "web-0", "web-1", "web-2")
	v.rollout(0, "rolled back", "undo", "--to-revision", "1")
	v.rollout(0, "complete 3 pods at revision", "status", "--timeout", "1m")
	v.expectPods(before, "")
	v.rollout(1, "unable to find specified revision 1 in history", "undo", "--to-revision", "1")
}

func (v *move) pauseAndResume() {
	before := v.podRevisions()
	v.rollout(0, "paused", "pause")
	v.edit("6", "")
	v.rollout(4, "paused: updates go on after rollout resume", "status", "--timeout", "2s")
	v.rollout(1, "can't restart paused StatefulSet", "restart")
	v.expectPods(before, "", "web-0", "web-1", "web-2")
	v.rollout(0, "resumed", "resume")
	v.rollout(0, "complete 3 pods at revision", "status", "--timeout", "1m")
	v.expectPods(before, "6")
}

func (v *move) restartAll() {
	before := v.podRevisions()
	v.rollout(0, "restarted", "restart")
	v.rollout(0, "complete 3 pods at revision", "status", "--timeout", "1m", "-w")
	v.expectPods(before, "6")
	for _, pod := range v.sourcePods() {
		if pod.Status.Phase != corev1.PodRunning {
			v.T.Errorf("%s is %s", pod.Name, pod.Status.Phase)
		}
	}
}

func (v *move) statusOnDelete() {
	v.Must(v.patchKind(v.Here(), slice, `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`))
	v.rollout(1, "rollout status is only available for the strategy types RollingUpdate and Recreate, not OnDelete", "status")
}
