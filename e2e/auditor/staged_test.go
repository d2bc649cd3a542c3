package auditor

import (
	"context"
	"fmt"
	"maps"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// TestStaged proves on real API servers that each staged violation is found, and that a correct move is accepted.
func TestStaged(t *testing.T) {
	clusters := startClusters(t)
	east, west := clusters[0], clusters[1]
	// The group ends before the restart, which would disturb the others.
	t.Run("parallel", func(t *testing.T) {
		cases := map[string]func(*stage){
			"I1 pod on both sides":   stageTwins,
			"I1 I2 lingering pod":    stageLingering,
			"I2 disk on both sides":  stageSharedDisk,
			"I3 other disk":          stageOtherDisk,
			"I3 empty disk":          stageEmptyDisk,
			"I3 deleted disk":        stageDeletedDisk,
			"I3 torn copy":           stageTornCopy,
			"I3 no copy":             stageRebound,
			"I3 torn seal":           stageTornSeal,
			"I3 changed source":      stageChangedSource,
			"I2 early copy":          stageEarlyCopy,
			"clean copy":             stageCopy,
			"clean copy that writes": stageWrites,
			"I4 two budgets":         stageTwoBudgets,
			"I4 open budget":         stageOpenBudget,
			"I4 returned too early":  stageEarlyReturn,
			"I4 blamed":              stageBlamed,
			"clean":                  stageClean,
			"an auditor that missed": stageUnwatched,
		}
		maps.Copy(cases, stagesInPlace)
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(newStage(t, east, west))
			})
		}
		t.Run("clean in one cluster", func(t *testing.T) {
			t.Parallel()
			stageClean(newStage(t, west, west))
		})
		t.Run("clean in one namespace", func(t *testing.T) {
			t.Parallel()
			stageClean(newCloseStage(t, east))
		})
		t.Run("I2 hasty in one cluster", func(t *testing.T) {
			t.Parallel()
			stageHasty(newStage(t, west, west))
		})
		t.Run("I1 pod on both sides of one cluster", func(t *testing.T) {
			t.Parallel()
			stageTwins(newStage(t, west, west))
		})
	})
	t.Run("restart", func(t *testing.T) { stageRestart(newStage(t, east, west), west) })
}

// stageTwins starts ordinal 1 at the destination while the source still runs it.
func stageTwins(s *stage) {
	s.deploy(judge.Source, makeSet(0, 2, ""))
	a := s.audit(0)
	s.deploy(judge.Destination, makeSet(1, 1, ""))
	s.untilViolated(a, I1, "existed at the same time")
}

// stageLingering gives ordinal 1's disk away and starts it at the destination while
// the source's pod is Terminating.
func stageLingering(s *stage) {
	set := makeSet(0, 2, claimTemplate)
	set.Spec.Template.Annotations[cluster.DeleteDelayAnnotationKey] = patience.String()
	s.deploy(judge.Source, set)
	pv := s.volumeOf(judge.Source, 1)
	a := s.audit(0)
	s.changeVolume(judge.Source, pv.Name, retain)
	s.scale(judge.Source, 0, 1)
	s.until("the pod is Terminating", func(ctx context.Context) (bool, error) {
		pod, err := s.ends[judge.Source].pods().Get(ctx, judge.PodName(setName, 1), metav1.GetOptions{})
		return err == nil && pod.DeletionTimestamp != nil, err
	})
	s.changeVolume(judge.Source, pv.Name, park)
	s.claimVolume(1, s.recreateVolume(pv, 1, ""))
	s.deploy(judge.Destination, makeSet(1, 1, claimTemplate))
	s.untilViolated(a, I1, "existed at the same time")
	r := a.Finish(s.t.Context())
	if count(r.Violations, I2) != 1 || count(r.Violations, I3) > 0 || r.VolumesVerified != 1 {
		s.t.Errorf("want the take-over refuted and the right volume verified, got\n%s", r)
	}
}

// stageHasty gives ordinal 1's disk away at the moment at which it stops the pod. The pod disappears before it can be
// read.
func stageHasty(s *stage) {
	s.deploy(judge.Source, makeSet(0, 2, claimTemplate))
	pv := s.volumeOf(judge.Source, 1)
	a := s.audit(0)
	s.changeVolume(judge.Source, pv.Name, pointAt(s.ends[judge.Destination].namespace, s.ends[judge.Destination].claimOf(1)))
	s.must(s.ends[judge.Source].pods().Delete(s.t.Context(), judge.PodName(setName, 1), metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	s.untilViolated(a, I2, "while pod")
}

// stageSharedDisk gives ordinal 1's disk to the destination while the source's pod
// runs on it and an attachment holds it.
func stageSharedDisk(s *stage) {
	s.deploy(judge.Source, makeSet(0, 2, claimTemplate))
	pv := s.volumeOf(judge.Source, 1)
	_, err := s.ends[judge.Source].StorageV1().VolumeAttachments().Create(s.t.Context(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "staged-"},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "staged", NodeName: "node-0",
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new(pv.Name)},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	a := s.audit(0)
	s.claimVolume(1, s.recreateVolume(pv, 1, ""))
	s.untilViolated(a, I2, "usable on both sides", "while pod", "while VolumeAttachment")
}

// stageOtherDisk binds the destination's claim to another disk.
func stageOtherDisk(s *stage) {
	s.deploy(judge.Source, makeSet(0, 2, claimTemplate))
	pv := s.volumeOf(judge.Source, 1)
	a := s.audit(0)
	s.scale(judge.Source, 0, 1)
	s.untilGone(judge.Source, 1)
	s.claimVolume(1, s.recreateVolume(pv, 1, fmt.Sprintf("/tmp/%s-other", pv.Name)))
	s.untilViolated(a, I3, "-other\" instead of")
}

// stageEmptyDisk starts ordinal 1 at the destination without its claim: the StatefulSet controller creates an empty
// volume.
func stageEmptyDisk(s *stage) {
	s.deploy(judge.Source, makeSet(0, 2, claimTemplate))
	a := s.audit(0)
	s.scale(judge.Source, 0, 1)
	s.untilGone(judge.Source, 1)
	s.deploy(judge.Destination, makeSet(1, 1, claimTemplate))
	s.untilViolated(a, I3, "uses claim data-web-1, but")
}

// stageDeletedDisk deletes a claim whose volume is not retained. The volume and its storage are deleted with it.
func stageDeletedDisk(s *stage) {
	from := s.ends[judge.Source]
	s.deploy(judge.Source, makeSet(0, 2, claimTemplate))
	a := s.audit(0)
	s.scale(judge.Source, 0, 1)
	s.untilGone(judge.Source, 1)
	s.must(from.claims().Delete(s.t.Context(), from.claimOf(1), metav1.DeleteOptions{}))
	s.untilViolated(a, I3, "was deleted with reclaim policy Delete")
}

// stageTwoBudgets lets each side allow one eviction while d is 1.
func stageTwoBudgets(s *stage) {
	s.deploy(judge.Source, makeSet(0, 3, ""))
	s.deploy(judge.Destination, makeSet(3, 2, ""))
	s.protect(judge.Source, 1)
	a := s.audit(1)
	s.protect(judge.Destination, 1)
	s.untilViolated(a, I4, "source/web allows 1, destination/web allows 1")
}

// auditProtected audits three replicas of which one may be evicted.
func (s *stage) auditProtected() *Auditor {
	s.t.Helper()
	s.deploy(judge.Source, makeSet(0, 3, ""))
	s.protect(judge.Source, 1)
	return s.audit(1)
}

// stageOpenBudget takes an ordinal down while an eviction is allowed.
func stageOpenBudget(s *stage) {
	a := s.auditProtected()
	s.scale(judge.Source, 0, 2)
	s.untilViolated(a, I4, "holds 1 down (ordinals [2]) and the budgets allow 1 more")
}

// stageEarlyReturn allows an eviction again before the ordinal that moved is Ready.
func stageEarlyReturn(s *stage) {
	a := s.auditProtected()
	s.allow(judge.Source, 0, 0)
	s.scale(judge.Source, 0, 2)
	s.untilGone(judge.Source, 2)
	set := makeSet(2, 1, "")
	set.Spec.Template.Annotations[cluster.ReadyDelayAnnotationKey] = patience.String()
	to := s.ends[judge.Destination]
	s.create(judge.Destination, set)
	s.until("the pod is there", func(ctx context.Context) (bool, error) {
		_, err := to.pods().Get(ctx, judge.PodName(setName, 2), metav1.GetOptions{})
		return err == nil, nil
	})
	s.allow(judge.Source, 1, 1)
	s.untilViolated(a, I4, "holds 1 down (ordinals [2]) and the budgets allow 1 more")
}

// stageBlamed does the same to an ordinal that the test declares as broken by hand.
func stageBlamed(s *stage) {
	a := s.auditProtected()
	a.Blame(2)
	s.scale(judge.Source, 0, 2)
	s.untilGone(judge.Source, 2)
	s.untilAllowed(judge.Source, 1)
	checked := a.checksOf(I4)
	s.until("I4 is checked", func(context.Context) (bool, error) { return a.checksOf(I4) > checked, nil })
	if r := a.Finish(s.t.Context()); !r.OK() || r.Checks[I4] == 0 {
		s.t.Errorf("the auditor does not agree:\n%s", r)
	}
}

// stageClean moves a whole application correctly.
func stageClean(s *stage) {
	const total = 3
	s.deploy(judge.Source, makeSet(0, total, claimTemplate))
	s.deploy(judge.Destination, makeSet(total, 0, claimTemplate))
	s.protect(judge.Source, 1)
	if !s.isClose() {
		s.protect(judge.Destination, 0)
	}
	a := s.audit(1)
	for k := int32(total - 1); k >= 0; k-- {
		s.handOff(k, total)
	}
	r := a.Finish(s.t.Context())
	s.t.Logf("\n%s", r)
	if !r.OK() || r.Moved != total || r.VolumesVerified != total || len(r.Ordinals) != total || r.FewestAvailable != total-1 {
		s.t.Errorf("want OK with %d ordinals and volumes and at least %d available, got %+v", total, total-1, r)
	}
}

// stageUnwatched disconnects the auditor's watches: it must not approve the move.
func stageUnwatched(s *stage) {
	s.deploy(judge.Source, makeSet(0, 2, ""))
	a := s.audit(0)
	a.stopWatching()
	s.scale(judge.Source, 0, 1)
	s.untilGone(judge.Source, 1)
	s.deploy(judge.Destination, makeSet(1, 1, ""))
	if r := a.Finish(s.t.Context()); r.OK() || len(r.Violations) > 0 || r.Moved != 1 {
		s.t.Errorf("want neither agreement nor blame for the 1 ordinal moved, got\n%s", r)
	}
}

// stageRestart kills the destination's API server while a check needs it. The check waits, the watches continue, and a
// violation staged after that is found.
func stageRestart(s *stage, west *cluster.Cluster) {
	s.deploy(judge.Source, makeSet(0, 2, ""))
	a := s.audit(0)
	// When its appearance is checked, the destination's watch is up.
	s.createPod(judge.Destination, 6)
	s.until("pod web-6 is checked", func(context.Context) (bool, error) { return a.checksOf(I1) > 0, nil })
	s.must(west.Kill(cluster.APIServer))
	// Its appearance can only be judged when the other side answers again.
	s.createPod(judge.Source, 5)
	s.must(west.StartRole(s.t.Context(), cluster.APIServer))
	s.deploy(judge.Destination, makeSet(1, 1, ""))
	s.untilViolated(a, I1, "existed at the same time")
	if r := a.Finish(s.t.Context()); len(r.Unproved) > 0 || r.Checks[I1] < 3 || r.Interruptions == 0 {
		s.t.Errorf("want all checks made in spite of the restart, got\n%s", r)
	}
}
