package move

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/attacher"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// attached gives each ordinal volumes of a CSI driver, which the attach controller attaches to the node of its pod. It comes after
// the setting that says where the move goes. On kind, kubelets attach and mount volumes of their own.
func attached(v *harness.Move) {
	if !harness.Embeds() || len(v.App.Claims) == 0 {
		return
	}
	(&move{v}).csiVolumes()
	v.Deployed = func() { (&move{v}).awaitAttached() }
}

// awaitAttached waits until each volume of the source is attached to the node of its pod.
func (v *move) awaitAttached() {
	v.T.Helper()
	v.csiNode(50)
	v.Eventually("the volumes are attached", func(ctx context.Context) (bool, error) {
		for _, pod := range v.sourcePods() {
			if is, err := attacher.Attached(ctx, v.Source, &pod); err != nil || !is {
				return false, err
			}
		}
		return true, nil
	})
}

// about is a command for this move.
func (v *move) about(verb string, more ...string) *exec.Cmd {
	v.T.Helper()
	args := append([]string{verb, v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig()}, more...)
	args = append(args, "--to-kubeconfig", v.To.Kubeconfig(), "--to-namespace", v.ToNamespace, "--to-name", v.ToName, "--create-namespace")
	if !slices.Contains(more, "--volume") {
		args = append(args, "--shared", strings.Join(v.App.Claims, ","))
	}
	return exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), args...)
}

// agrees checks that nothing stands in the way of the move, say plan and preflight.
func (v *move) agrees(flags ...string) {
	v.T.Helper()
	for _, verb := range []string{"plan", "preflight"} {
		v.exits(v.about(verb, flags...), 0)
	}
}

// TestP1OneAnswer: where volumes are attached, plan, preflight and run say the same.
func TestP1OneAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		where harness.Setting
		flags []string
	}{
		"to another cluster":   {where: harness.AcrossClusters},
		"to another namespace": {where: harness.AcrossNamespaces},
		"under another name":   {where: harness.AcrossNames},
		"the lowest first":     {where: harness.AcrossClusters, flags: []string{"--order", "lowest-first"}},
		"one of them":          {where: harness.AcrossClusters, flags: []string{"--count", "1"}},
		"with new volumes":     {where: harness.AcrossClusters, flags: []string{"--volume", "data=empty,fills-from-peers,ready-when-filled,returns-to-kept"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(3), tc.where, attached)
			v.agrees(tc.flags...)
			v.exits(v.about("run", append([]string{"--exit-on-stall", "--timeout", "90s"}, tc.flags...)...), 0)
		})
	}
}
