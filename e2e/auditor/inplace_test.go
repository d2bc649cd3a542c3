package auditor

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
	"github.com/sliceshift/sliceshift/internal/treediff"
)

// stagesInPlace are the staged violations of a migration in place, and correct ones.
var stagesInPlace = map[string]func(*stage){
	"in place clean":                    stageReplaced,
	"I1 in place a mover stays":         stageMoverStays,
	"I2 in place reserved too early":    stageReservedEarly,
	"I3 in place torn copy":             stageTornInPlace,
	"I3 in place provisioned":           stageProvisioned,
	"I3 in place changed old volume":    stageChangedInPlace,
	"I3 in place deleted old volume":    stageDeletedInPlace,
	"I4 in place open budget":           stageOpenInPlace,
	"in place an auditor that saw none": stageUnwatchedInPlace,
}

// auditInPlace starts the auditor for a migration in place of the source's set.
func (s *stage) auditInPlace(budget int32) *Auditor {
	s.t.Helper()
	e := s.ends[judge.Source]
	a, err := Start(s.t.Context(), Options{
		Source: Side{Name: e.name, Config: e.config, Namespace: e.namespace, Set: e.set}, InPlace: true, Budget: budget, Copied: []string{claimTemplate}, Content: treediff.Compare,
		Keep: func(ctx context.Context, from string) (string, error) {
			kept := filepath.Join(s.t.TempDir(), "kept")
			return kept, treediff.Keep(ctx, from, kept)
		},
	})
	s.must(err)
	return a
}

// held is a finalizer, as a migration in place adds it to a claim.
const held = "e2e.sliceshift.io/held"

// stopInPlace stops ordinal 1: its claim is held and deleted, and its pod is deleted.
func (s *stage) stopInPlace(pv *corev1.PersistentVolume) {
	s.t.Helper()
	s.changeVolume(judge.Source, pv.Name, retain)
	e := s.ends[judge.Source]
	claim := e.claimOf(1)
	s.finalizers(`["` + held + `","kubernetes.io/pvc-protection"]`)
	s.must(e.claims().Delete(s.t.Context(), claim, metav1.DeleteOptions{}))
	s.must(e.pods().Delete(s.t.Context(), judge.PodName(setName, 1), metav1.DeleteOptions{}))
	s.until("the pod has ended", func(ctx context.Context) (bool, error) {
		pod, err := e.pods().Get(ctx, judge.PodName(setName, 1), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return err == nil && pod.Spec.NodeName == "", err
	})
}

// finalizers sets the finalizers of the claim of ordinal 1.
func (s *stage) finalizers(list string) {
	s.t.Helper()
	e := s.ends[judge.Source]
	_, err := e.claims().Patch(s.t.Context(), e.claimOf(1), types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`), metav1.PatchOptions{})
	s.must(err)
}

// filledWith creates a volume for a folder, which belongs to a claim. The claim does not have to exist.
func (s *stage) filledWith(pv *corev1.PersistentVolume, folder, claim string) string {
	s.t.Helper()
	e := s.ends[judge.Source]
	filled := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{GenerateName: "filled-"}, Spec: *pv.Spec.DeepCopy()}
	retain(filled)
	pointAt(e.namespace, claim)(filled)
	filled.Spec.HostPath.Path = folder
	created, err := e.CoreV1().PersistentVolumes().Create(s.t.Context(), filled, metav1.CreateOptions{})
	s.must(err)
	return created.Name
}

// reserve reserves a volume for the claim of ordinal 1, and waits until it is Available.
func (s *stage) reserve(volume string) {
	s.t.Helper()
	e := s.ends[judge.Source]
	s.changeVolume(judge.Source, volume, pointAt(e.namespace, e.claimOf(1)))
	s.until("volume "+volume+" is Available", func(ctx context.Context) (bool, error) {
		pv, err := e.CoreV1().PersistentVolumes().Get(ctx, volume, metav1.GetOptions{})
		return err == nil && pv.Status.Phase == corev1.VolumeAvailable, err
	})
}

// release lets ordinal 1 start on the volume that is reserved for its claim.
func (s *stage) release() {
	s.t.Helper()
	e := s.ends[judge.Source]
	claim, err := e.claims().Get(s.t.Context(), e.claimOf(1), metav1.GetOptions{})
	s.must(err)
	s.finalizers("null")
	s.until("the claim is created again", func(ctx context.Context) (bool, error) {
		now, err := e.claims().Get(ctx, e.claimOf(1), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			s.poke(ctx)
			return false, nil
		}
		return err == nil && now.UID != claim.UID, err
	})
	s.until("the pod runs", func(ctx context.Context) (bool, error) {
		s.poke(ctx)
		pod, err := e.pods().Get(ctx, judge.PodName(setName, 1), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && pod.Status.Phase == corev1.PodRunning, err
	})
}

// poke makes the StatefulSet controller reconcile the set.
func (s *stage) poke(ctx context.Context) {
	s.t.Helper()
	patch := []byte(`{"metadata":{"annotations":{"e2e.sliceshift.io/poked":"` + rand.String(8) + `"}}}`)
	_, err := s.ends[judge.Source].sets().Patch(ctx, setName, types.MergePatchType, patch, metav1.PatchOptions{})
	s.must(err)
}

// replace lets ordinal 1 run on a folder instead of its volume.
func (s *stage) replace(pv *corev1.PersistentVolume, folder string) {
	s.t.Helper()
	filled := s.filledWith(pv, folder, "incoming")
	s.stopInPlace(pv)
	s.changeVolume(judge.Source, pv.Name, park)
	s.reserve(filled)
	s.release()
}

// replacedWith replaces the volume of ordinal 1 correctly, and returns it.
func (s *stage) replacedWith(a *Auditor) *corev1.PersistentVolume {
	s.t.Helper()
	pv := s.volumeOf(judge.Source, 1)
	s.replace(pv, s.copyOf(pv))
	s.until("the contents were compared", func(context.Context) (bool, error) { return a.Compared() == 1, nil })
	return pv
}

// stageReplaced replaces the volume of ordinal 1 correctly, and its pod writes after it has started.
func stageReplaced(s *stage) {
	s.deployWithData()
	a := s.auditInPlace(0)
	s.replacedWith(a)
	pod, err := s.ends[judge.Source].pods().Get(s.t.Context(), judge.PodName(setName, 1), metav1.GetOptions{})
	s.must(err)
	s.until("the start is judged", func(context.Context) (bool, error) { return a.Judged(pod.UID, 1), nil })
	s.written(s.volumeOf(judge.Source, 1).Spec.HostPath.Path)
	if r := a.Finish(s.t.Context()); !r.OK() || r.Moved != 1 || r.ContentsCompared != 1 || r.Checks[I1] < 2 {
		s.t.Errorf("want it agreed to, got\n%s", r)
	}
}

// stageMoverStays leaves the pod that has filled the new volume running.
func stageMoverStays(s *stage) {
	pv := s.deployWithData()
	e := s.ends[judge.Source]
	filled := s.filledWith(pv, s.copyOf(pv), "incoming")
	_, err := e.claims().Create(s.t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "incoming"}, Spec: claimSpec(filled)}, metav1.CreateOptions{})
	s.must(err)
	a := s.auditInPlace(0)
	_, err = e.pods().Create(s.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "receiver"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "mover", Image: "mover"}},
			Volumes:    []corev1.Volume{{Name: "to", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "incoming"}}}},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.until("the receiver runs", func(ctx context.Context) (bool, error) {
		pod, err := e.pods().Get(ctx, "receiver", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning, err
	})
	s.stopInPlace(pv)
	s.changeVolume(judge.Source, pv.Name, park)
	s.reserve(filled)
	s.release()
	s.until("the contents were compared", func(context.Context) (bool, error) { return a.Compared() == 1, nil })
	a.Finish(s.t.Context())
	s.untilViolated(a, I1, "mounted at the same time", "receiver")
}

// stageReservedEarly reserves the new volume while the pod of ordinal 1 runs.
func stageReservedEarly(s *stage) {
	pv := s.deployWithData()
	a := s.auditInPlace(0)
	filled := s.filledWith(pv, s.copyOf(pv), s.ends[judge.Source].claimOf(1))
	s.reserve(filled)
	a.Finish(s.t.Context())
	s.untilViolated(a, I2, "was given to claim data-web-1 while pod")
}

// stageTornInPlace starts ordinal 1 on an incomplete copy.
func stageTornInPlace(s *stage) {
	pv := s.deployWithData()
	a := s.auditInPlace(0)
	folder := s.copyOf(pv)
	s.must(os.Truncate(filepath.Join(folder, "journal"), 4))
	s.replace(pv, folder)
	s.untilViolated(a, I3, "its content is not that of", "journal")
}

// stageProvisioned frees the name of the claim while no volume is reserved for it.
func stageProvisioned(s *stage) {
	pv := s.deployWithData()
	a := s.auditInPlace(0)
	s.stopInPlace(pv)
	s.changeVolume(judge.Source, pv.Name, park)
	s.release()
	s.untilViolated(a, I3, "was provisioned for claim data-web-1")
}

// stageChangedInPlace writes to the old volume after ordinal 1 has started on the new one.
func stageChangedInPlace(s *stage) {
	s.deployWithData()
	a := s.auditInPlace(0)
	pv := s.replacedWith(a)
	s.written(pv.Spec.HostPath.Path)
	a.Finish(s.t.Context())
	s.untilViolated(a, I3, "which the ordinal has left, has changed since its copy was sealed")
}

// stageDeletedInPlace deletes the old volume of ordinal 1, whose storage is retained.
func stageDeletedInPlace(s *stage) {
	s.deployWithData()
	a := s.auditInPlace(0)
	pv := s.replacedWith(a)
	s.must(s.ends[judge.Source].CoreV1().PersistentVolumes().Delete(s.t.Context(), pv.Name, metav1.DeleteOptions{}))
	s.untilViolated(a, I3, "was deleted, although its ordinal has run on it")
}

// stageOpenInPlace allows an eviction while ordinal 1 is stopped.
func stageOpenInPlace(s *stage) {
	pv := s.deployWithData()
	s.protect(judge.Source, 2)
	a := s.auditInPlace(1)
	s.stopInPlace(pv)
	s.untilViolated(a, I4, "holds 1 down (ordinals [1]) and the budgets allow 1 more")
}

// stageUnwatchedInPlace disconnects the auditor's watches: it must not approve the change.
func stageUnwatchedInPlace(s *stage) {
	pv := s.deployWithData()
	a := s.auditInPlace(0)
	a.stopWatching()
	s.replace(pv, s.copyOf(pv))
	if r := a.Finish(s.t.Context()); r.OK() || len(r.Violations) > 0 {
		s.t.Errorf("want neither agreement nor blame, got\n%s", r)
	}
}

// TestInPlaceHasNoDestination: the destination of an audit in place is not asked for.
func TestInPlaceHasNoDestination(t *testing.T) {
	from := Side{Config: new(rest.Config), Namespace: "shop", Set: "web"}
	o, err := Options{Source: from, InPlace: true}.complete()
	if err != nil || o.Destination.Namespace != "shop" || o.Destination.Set != noSet || o.Destination.Name != "destination" {
		t.Errorf("got %+v, %v", o.Destination, err)
	}
}
