package e2e

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestRecover: the cluster of the destination ends for good, between two ordinals or while one
// is on its way. Until a person says so, whichever process looks writes nothing; then all
// ordinals run at the source, each on its own disk (G15).
func TestRecover(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		at moment
		// away are the ordinals that may run over there.
		away string
	}{
		"between two ordinals":           {arrival(2), "2, 3"},
		"before an ordinal is stopped":   {wroteFor(plan.CarryVolume, volumes.Secure), "3"},
		"while an ordinal is stopped":    {wroteFor(plan.ScaleDown, ""), "2, 3"},
		"while its volume is on its way": {wroteFor(plan.CarryVolume, volumes.Park), "2, 3"},
		"while it is coming up":          {wroteFor(plan.ScaleUp, ""), "2, 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lost := startBare(t, "lost", cluster.Options{})
			v := newMove(t, usual(4), func(v *move) { v.from, v.to = east, lost.Cluster })
			disks := v.disks()
			v.lose(lost, tc.at)
			v.must(v.rejoin().Store.SetMode(v.ctx, api.ModeRecover))
			before := v.generation()
			if hold := v.stalls(v.rejoin()); hold.Reason != api.ReasonRecoveryUnconfirmed || !contains(hold.Message, "start ordinal "+tc.away+" at") || !contains(hold.Message, "runs twice") {
				t.Errorf("without a word it stalls with %+v", hold)
			}
			if after := v.generation(); after != before {
				t.Errorf("the source was scaled: generation %d, before %d", after, before)
			}
			m := v.recovered()
			if completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted); completed == nil || completed.Reason != api.ReasonRecovered {
				t.Errorf("completed is %+v", completed)
			}
			v.expectSlice(v.here(), 0, 4)
			v.expectBudget(v.here())
			v.expectVolumes(v.here(), 4)
			if after := v.disks(); !maps.Equal(after, disks) {
				t.Errorf("the disks are %v, and were %v", after, disks)
			}
		})
	}
}

// wroteFor is when such an effect was carried out for ordinal 2.
func wroteFor(verb plan.Verb, volume volumes.Verb) moment {
	return wrote(func(e *plan.Effect) bool { return e.Ordinal == 2 && e.Verb == verb && e.Volume.Verb == volume })
}

// lose moves until the cluster of the destination ends: whatever ran there is off. The auditor
// gives its verdict before, for it asks both sides.
func (v *move) lose(lost *bare, at moment) {
	v.t.Helper()
	hold := v.stalls(v.mover(), at(func() error {
		if verdict := v.auditor.Finish(v.ctx); len(verdict.Violations) > 0 { // what is under way is not proved yet
			v.t.Errorf("the auditor does not agree:\n%s", verdict)
		}
		return lost.end()
	}))
	if hold.Reason != api.ReasonClusterUnreachable {
		v.t.Errorf("stalled with %+v", hold)
	}
}

// end ends all that a cluster runs.
func (b *bare) end() error {
	for _, role := range []cluster.Role{cluster.Kwok, cluster.ControllerManager, cluster.Scheduler, cluster.APIServer} {
		if err := b.Kill(role); err != nil {
			return err
		}
	}
	return nil
}

// rejoin is a process that goes on with the move.
func (v *move) rejoin() *fixture.Mover {
	v.t.Helper()
	mover, err := fixture.Rejoin(v.from.RESTConfig(), v.to.RESTConfig(), v.m)
	v.must(err)
	return mover
}

// recovered gives the person's word, recovers to the end, and returns the record.
func (v *move) recovered() *api.Migration {
	v.t.Helper()
	mover := v.rejoin()
	m, err := mover.Store.Load(v.ctx)
	v.must(err)
	v.must(edit(v.ctx, mover.Store, func(s *api.MigrationSpec) { s.Recovery.DestinationIsOff = string(m.Status.Baseline.DestinationCluster) }))
	v.drive(mover)
	m, err = mover.Store.Load(v.ctx)
	v.must(err)
	return m
}

// generation is the source's.
func (v *move) generation() int64 {
	v.t.Helper()
	set, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Get(v.ctx, v.app.Name, metav1.GetOptions{})
	v.must(err)
	return set.Generation
}

// disks are those of the source's ordinals, by their claims.
func (v *move) disks() map[string]string {
	v.t.Helper()
	disks := map[string]string{}
	for ordinal := range v.app.Replicas {
		name := fmt.Sprintf("data-%s-%d", v.app.Name, ordinal)
		claim, err := v.source.CoreV1().PersistentVolumeClaims(v.app.Namespace).Get(v.ctx, name, metav1.GetOptions{})
		v.must(err)
		if claim.Status.Phase != corev1.ClaimBound {
			v.t.Errorf("claim %s is %s", name, claim.Status.Phase)
		}
		volume, err := v.source.CoreV1().PersistentVolumes().Get(v.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		v.must(err)
		disks[name] = volumes.ViewVolume(volume, "").Handle
	}
	return disks
}

// TestManagerRecovers: the manager does the same, whose connection to the destination leads
// nowhere. It was started anew meanwhile (G15).
func TestManagerRecovers(t *testing.T) {
	t.Parallel()
	lost := startBare(t, "lost", cluster.Options{})
	v := newMove(t, usual(4), func(v *move) { v.from, v.to = east, lost.Cluster })
	disks := v.disks()
	v.must(installRoles(lost))
	c := v.managed()
	process := startManager(t, v.app.Namespace)
	v.must(c.Create(v.ctx, v.m))
	v.awaitFewer(3)
	v.must(lost.end())
	if condition := v.await(c, api.ConditionStalled, metav1.ConditionTrue); condition.Reason != api.ReasonClusterUnreachable {
		t.Errorf("stalled with %s", condition.Reason)
	}
	process.kill()
	process.start()
	v.must(c.Get(v.ctx, client.ObjectKeyFromObject(v.m), v.m))
	v.must(c.Patch(v.ctx, v.m, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"mode":"Recover","recovery":{"destinationIsOff":%q}}}`, v.m.Status.Baseline.DestinationCluster))))
	if condition := v.await(c, api.ConditionCompleted, metav1.ConditionTrue); condition.Reason != api.ReasonRecovered {
		t.Errorf("completed with %s", condition.Reason)
	}
	v.expectSlice(v.here(), 0, 4)
	v.expectVolumes(v.here(), 4)
	if after := v.disks(); !maps.Equal(after, disks) {
		t.Errorf("the disks are %v, and were %v", after, disks)
	}
}
