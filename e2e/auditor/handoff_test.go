package auditor

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// claimTemplate is the claim template of all staged sets with volumes.
const claimTemplate = "data"

// claimOf returns the name of the side's claim of an ordinal.
func (e *end) claimOf(ordinal int32) string {
	return judge.VolumeKey{Ordinal: ordinal, Template: claimTemplate}.ClaimName(e.set)
}

// volumeOf reads the volume of a claim.
func (s *stage) volumeOf(side judge.SideIndex, ordinal int32) *corev1.PersistentVolume {
	s.t.Helper()
	e := s.ends[side]
	claim, err := e.claims().Get(s.t.Context(), e.claimOf(ordinal), metav1.GetOptions{})
	s.must(err)
	pv, err := e.CoreV1().PersistentVolumes().Get(s.t.Context(), claim.Spec.VolumeName, metav1.GetOptions{})
	s.must(err)
	return pv
}

// changeVolume updates a volume, which the volume controller may update at the same time.
func (s *stage) changeVolume(side judge.SideIndex, name string, change func(*corev1.PersistentVolume)) {
	s.t.Helper()
	volumes := s.ends[side].CoreV1().PersistentVolumes()
	s.until("volume "+name+" is written", func(ctx context.Context) (bool, error) {
		pv, err := volumes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		change(pv)
		_, err = volumes.Update(ctx, pv, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			err = nil
			return false, err
		}
		return err == nil, err
	})
}

// retain sets the reclaim policy of a volume.
func retain(pv *corev1.PersistentVolume) {
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
}

// pointAt gives the volume to a claim by name.
func pointAt(namespace, claim string) func(*corev1.PersistentVolume) {
	return func(pv *corev1.PersistentVolume) {
		pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: namespace, Name: claim}
	}
}

// park points the volume at a claim that does not exist, so that it is unusable.
func park(pv *corev1.PersistentVolume) {
	pointAt("sliceshift-parked", "sliceshift-parked")(pv)
}

// recreateVolume creates the same volume for a claim of the destination. path, if not empty, replaces the volume's own
// storage.
func (s *stage) recreateVolume(original *corev1.PersistentVolume, ordinal int32, path string) string {
	s.t.Helper()
	to := s.ends[judge.Destination]
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{GenerateName: "moved-"}, Spec: *original.Spec.DeepCopy()}
	retain(pv)
	pointAt(to.namespace, to.claimOf(ordinal))(pv)
	if path != "" {
		pv.Spec.HostPath.Path = path
	}
	created, err := to.CoreV1().PersistentVolumes().Create(s.t.Context(), pv, metav1.CreateOptions{})
	s.must(err)
	return created.Name
}

// claimVolume creates the destination's claim and waits until it is bound. It waits until the volume is Available
// first: if the volume controller sees the claim before the volume, it retries only after 15 seconds.
func (s *stage) claimVolume(ordinal int32, volume string) {
	s.t.Helper()
	to := s.ends[judge.Destination]
	s.until("volume "+volume+" is available", func(ctx context.Context) (bool, error) {
		pv, err := to.CoreV1().PersistentVolumes().Get(ctx, volume, metav1.GetOptions{})
		return err == nil && pv.Status.Phase == corev1.VolumeAvailable, err
	})
	_, err := to.claims().Create(s.t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: to.claimOf(ordinal)}, Spec: claimSpec(volume),
	}, metav1.CreateOptions{})
	s.must(err)
	s.until("claim "+to.claimOf(ordinal)+" is bound", func(ctx context.Context) (bool, error) {
		claim, err := to.claims().Get(ctx, to.claimOf(ordinal), metav1.GetOptions{})
		return err == nil && claim.Status.Phase == corev1.ClaimBound, err
	})
}

// untilGone waits until a pod no longer exists.
func (s *stage) untilGone(side judge.SideIndex, ordinal int32) {
	s.t.Helper()
	e := s.ends[side]
	s.until("pod "+judge.PodName(e.set, ordinal)+" is gone", func(ctx context.Context) (bool, error) {
		_, err := e.pods().Get(ctx, judge.PodName(e.set, ordinal), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// handOff moves the highest ordinal of a source with k+1 replicas by hand, as the design prescribes. total is the size
// of the application.
func (s *stage) handOff(k, total int32) {
	s.t.Helper()
	s.allow(judge.Source, 0, 0)
	if !s.isClose() {
		s.allow(judge.Destination, 0, 0)
	}
	pv := s.volumeOf(judge.Source, k)
	s.changeVolume(judge.Source, pv.Name, retain)
	s.scale(judge.Source, 0, k)
	s.untilGone(judge.Source, k)
	to := s.ends[judge.Destination]
	if s.ends[judge.Source].config.Host == to.config.Host {
		s.changeVolume(judge.Source, pv.Name, pointAt(to.namespace, to.claimOf(k)))
		s.claimVolume(k, pv.Name)
	} else {
		s.changeVolume(judge.Source, pv.Name, park)
		s.claimVolume(k, s.recreateVolume(pv, k, ""))
	}
	s.scale(judge.Destination, k, total-k)
	s.untilReady(judge.Destination)
	if k > 0 || s.isClose() {
		s.allow(judge.Source, 1, 1)
	} else {
		s.allow(judge.Destination, 1, 1)
	}
}
