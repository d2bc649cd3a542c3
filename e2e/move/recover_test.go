package move

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestRecover: the destination cluster is lost permanently, between two ordinals or during a handoff. No
// process writes anything until the user confirms the loss. Then all ordinals run at the source, each on its
// own disk (G15).
func TestRecover(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		at harness.Moment
		// away lists the ordinals that may run at the destination.
		away string
	}{
		"between two ordinals":           {harness.Arrival(2), "2, 3"},
		"before an ordinal is stopped":   {wroteFor(plan.CarryVolume, volumes.Secure), "3"},
		"while an ordinal is stopped":    {wroteFor(plan.ScaleDown, ""), "2, 3"},
		"while its volume is on its way": {wroteFor(plan.CarryVolume, volumes.Park), "2, 3"},
		"while it is coming up":          {wroteFor(plan.ScaleUp, ""), "2, 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lost := startBare(t, "lost", cluster.Options{})
			v := newMove(t, harness.Usual(4), func(v *harness.Move) { v.From, v.To = harness.East(), lost.Cluster })
			disks := v.disks()
			v.lose(lost, tc.at)
			v.Must(v.rejoin().Store.SetMode(v.Ctx, api.ModeRecover))
			before := v.generation()
			if hold := v.stalls(v.rejoin()); hold.Reason != api.ReasonRecoveryUnconfirmed || !strings.Contains(hold.Message, "start ordinal "+tc.away+" at") || !strings.Contains(hold.Message, "runs twice") {
				t.Errorf("without a word it stalls with %+v", hold)
			}
			if after := v.generation(); after != before {
				t.Errorf("the source was scaled: generation %d, before %d", after, before)
			}
			m := v.recovered()
			if completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted); completed == nil || completed.Reason != api.ReasonRecovered {
				t.Errorf("completed is %+v", completed)
			}
			v.ExpectBudget(v.Here())
			v.expectOnFormerDisks(4, disks)
		})
	}
}

// wroteFor returns the moment at which this effect was carried out for ordinal 2.
func wroteFor(verb plan.Verb, volume volumes.Verb) harness.Moment {
	return harness.Wrote(func(e *plan.Effect) bool { return e.Ordinal == 2 && e.Verb == verb && e.Volume.Verb == volume })
}

// lose moves until a moment at which the destination cluster and all of its pods stop. The auditor gives its
// verdict before, because it needs both sides.
func (v *move) lose(lost *bare, at harness.Moment) {
	v.T.Helper()
	hold := v.stalls(v.Mover(), at(func() error {
		if verdict := v.Auditor.Finish(v.Ctx); len(verdict.Violations) > 0 { // the current handoff is not proven yet
			v.T.Errorf("the auditor does not agree:\n%s", verdict)
		}
		return lost.end()
	}))
	if hold.Reason != api.ReasonClusterUnreachable {
		v.T.Errorf("stalled with %+v", hold)
	}
}

// end stops all parts of a cluster.
func (b *bare) end() error {
	for _, role := range []cluster.Role{cluster.Kwok, cluster.ControllerManager, cluster.Scheduler, cluster.APIServer} {
		if err := b.Kill(role); err != nil {
			return err
		}
	}
	return nil
}

// rejoin returns a new process that continues the move.
func (v *move) rejoin() *fixture.Mover {
	v.T.Helper()
	mover, err := fixture.Rejoin(v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
	v.Must(err)
	return mover
}

// recovered confirms the loss as the user, recovers completely, and returns the record.
func (v *move) recovered() *api.Migration {
	v.T.Helper()
	mover := v.rejoin()
	m, err := mover.Store.Load(v.Ctx)
	v.Must(err)
	v.Must(edit(v.Ctx, mover.Store, func(s *api.MigrationSpec) { s.Recovery.DestinationIsOff = string(m.Status.Baseline.DestinationCluster) }))
	v.Drive(mover)
	m, err = mover.Store.Load(v.Ctx)
	v.Must(err)
	return m
}

// generation returns the generation of the source.
func (v *move) generation() int64 {
	v.T.Helper()
	set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	v.Must(err)
	return set.Generation
}

// expectOnFormerDisks checks that the source owns all of these ordinals again, on their original disks.
func (v *move) expectOnFormerDisks(replicas int32, disks map[string]string) {
	v.T.Helper()
	v.ExpectSlice(v.Here(), 0, replicas)
	v.ExpectVolumes(v.Here(), replicas)
	if after := v.disks(); !maps.Equal(after, disks) {
		v.T.Errorf("the disks are %v, and were %v", after, disks)
	}
}

// disks returns the disks of the source's ordinals by claim name.
func (v *move) disks() map[string]string {
	v.T.Helper()
	disks := map[string]string{}
	for ordinal := range v.App.Replicas {
		name := fmt.Sprintf("data-%s-%d", v.App.Name, ordinal)
		claim, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Get(v.Ctx, name, metav1.GetOptions{})
		v.Must(err)
		if claim.Status.Phase != corev1.ClaimBound {
			v.T.Errorf("claim %s is %s", name, claim.Status.Phase)
		}
		volume, err := v.Source.CoreV1().PersistentVolumes().Get(v.Ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		v.Must(err)
		disks[name] = volumes.ViewVolume(volume, "").Handle
	}
	return disks
}

// TestManagerRecovers: the same with a manager that was restarted after it lost its connection to the
// destination (G15).
func TestManagerRecovers(t *testing.T) {
	t.Parallel()
	lost := startBare(t, "lost", cluster.Options{})
	v := newMove(t, harness.Usual(4), func(v *harness.Move) { v.From, v.To = harness.East(), lost.Cluster })
	disks := v.disks()
	v.Must(harness.InstallRoles(lost))
	c := v.Managed()
	process := harness.StartManager(t, v.App.Namespace, harness.Hasty...)
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitFewer(3)
	v.Must(lost.end())
	if condition := v.Await(c, api.ConditionStalled, metav1.ConditionTrue); condition.Reason != api.ReasonClusterUnreachable {
		t.Errorf("stalled with %s", condition.Reason)
	}
	process.Kill()
	process.Start()
	v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(v.Migration), v.Migration))
	v.Must(c.Patch(v.Ctx, v.Migration, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"mode":"Recover","recovery":{"destinationIsOff":%q}}}`, v.Migration.Status.Baseline.DestinationCluster))))
	if condition := v.Await(c, api.ConditionCompleted, metav1.ConditionTrue); condition.Reason != api.ReasonRecovered {
		t.Errorf("completed with %s", condition.Reason)
	}
	v.expectOnFormerDisks(4, disks)
}
