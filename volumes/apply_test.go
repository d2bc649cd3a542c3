package volumes

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// east returns the objects of the giver's side: its volume is secured and parked.
func east() (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pv", UID: "east-pv", ResourceVersion: "1", Annotations: map[string]string{api.OriginalReclaimPolicyAnnotationKey: "Delete " + owner},
		},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain, PersistentVolumeSource: csi, StorageClassName: "slow",
			ClaimRef: &corev1.ObjectReference{Namespace: "east", Name: "data-web-0_parked"},
		},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "east", Name: "data-web-0", UID: "east-claim"},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv"},
	}
	return volume, claim
}

// carrierOf returns a Carrier with both clusters; hooks intercept the requests to either.
func carrierOf(hooks clustertest.Hooks, objects ...client.Object) Carrier {
	class := "fast"
	return Carrier{Giver: clustertest.Hooked(hooks, objects...), Taker: clustertest.Hooked(hooks), Owner: owner, Form: Form{StorageClass: &class}}
}

var (
	both   = Pair{Fence: fence, Owner: owner, Giver: parked("east"), Taker: empty("west")}
	create = Action{Verb: CreateVolume, Volume: "pv", Ref: Parked(empty("west").Ref), UID: "east-pv", Fence: fence}
)

// TestCreated: the volume created at the taker is the giver's disk and is marked with the fence, and Apply
// returns the object as stored.
func TestCreated(t *testing.T) {
	volume, claim := east()
	carrier := carrierOf(clustertest.Hooks{}, volume, claim)
	made, err := Apply(t.Context(), carrier, create, both)
	if err != nil {
		t.Fatal(err)
	}
	var read corev1.PersistentVolume
	if err := carrier.Taker.Get(t.Context(), client.ObjectKey{Name: "pv"}, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&read, made); diff != "" {
		t.Errorf("what is there, and what is returned\n%s", diff)
	}
	got := ViewVolume(&read, owner)
	if !got.Ours || got.Fence != fence || got.Handle != "d/h" || got.ClaimRef != Parked(both.Taker.Ref) || read.Spec.StorageClassName != "fast" {
		t.Errorf("made %+v", read)
	}
	bound := Action{Verb: CreateClaim, Volume: "pv", Ref: both.Taker.Ref, Fence: fence}
	object, err := Apply(t.Context(), carrier, bound, both)
	if err != nil {
		t.Fatal(err)
	}
	seen := ViewClaim(object.(*corev1.PersistentVolumeClaim), owner)
	if !seen.Ours || seen.Fence != fence || seen.Volume != "pv" || object.GetNamespace() != "west" {
		t.Errorf("made %+v", object)
	}
	mark := Action{Verb: MarkClaim, Ref: both.Taker.Ref, UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), Fence: "migration.2", Calls: 2}
	marked, err := Apply(t.Context(), carrier, mark, both)
	if err != nil {
		t.Fatal(err)
	}
	if seen := ViewClaim(marked.(*corev1.PersistentVolumeClaim), owner); seen.Fence != "migration.2" || seen.Calls != 2 {
		t.Errorf("marked %+v", marked)
	}
}

// TestNotParkedAnyMore: no volume is created at the taker if the giver's is not parked, not secured, or not the
// one that was judged.
func TestNotParkedAnyMore(t *testing.T) {
	for name, spoil := range map[string]func(*corev1.PersistentVolume){
		"another one": func(v *corev1.PersistentVolume) { v.UID = "another" },
		"bound":       func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.Name = "data-web-0" },
		"free":        func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil },
		"not Retain":  func(v *corev1.PersistentVolume) { v.Spec.PersistentVolumeReclaimPolicy = "Delete" },
		"noted by another": func(v *corev1.PersistentVolume) {
			v.Annotations[api.OriginalReclaimPolicyAnnotationKey] = "Delete another"
		},
	} {
		t.Run(name, func(t *testing.T) {
			volume, claim := east()
			spoil(volume)
			carrier := carrierOf(clustertest.Hooks{}, volume, claim)
			if _, err := Apply(t.Context(), carrier, create, both); !apierrors.IsConflict(err) {
				t.Errorf("got %v", err)
			}
			var made corev1.PersistentVolumeList
			if err := carrier.Taker.List(t.Context(), &made); err != nil || len(made.Items) > 0 {
				t.Errorf("made %v, %v", made.Items, err)
			}
		})
	}
}

// TestWritten: a write to a volume returns the volume after the write.
func TestWritten(t *testing.T) {
	const discard = corev1.PersistentVolumeReclaimDelete
	volume, _ := east()
	carrier := carrierOf(clustertest.Hooks{}, volume)
	carrier.Taker = carrier.Giver
	to := Ref{Namespace: "east", Name: "data-web-0", UID: "east-claim"}
	pointed := Pair{Fence: "migration.2", Owner: owner}.point(ViewVolume(volume, owner), to)
	written, err := Apply(t.Context(), carrier, *pointed.Action, both)
	if err != nil {
		t.Fatal(err)
	}
	if got := ViewVolume(written.(*corev1.PersistentVolume), owner); got.ClaimRef != to || got.Fence != "migration.2" {
		t.Errorf("pointed: %+v", got)
	}
	judged := ViewVolume(written.(*corev1.PersistentVolume), owner)
	restored, err := Update(t.Context(), carrier.Taker, Pair{Owner: owner}.Restore(judged))
	if err != nil {
		t.Fatal(err)
	}
	if got := ViewVolume(restored.(*corev1.PersistentVolume), owner); got.Policy != discard || got.Note != (Note{}) || got.Fence != "" {
		t.Errorf("restored: %+v", got)
	}
}

// TestLoosened: an abandoned volume is returned to its claim and its own policy by one update of the version
// that was judged.
func TestLoosened(t *testing.T) {
	volume, _ := east()
	volume.Annotations[api.FenceAnnotationKey] = "migration.1"
	carrier := carrierOf(clustertest.Hooks{}, volume)
	action := change(Loosen, ViewVolume(volume, owner), func(s *State) {
		s.restore(corev1.PersistentVolumeReclaimDelete)
		s.ClaimRef = Ref{Namespace: "east", Name: "in", UID: "in"}
	})
	written, err := Update(t.Context(), carrier.Giver, action)
	if err != nil {
		t.Fatal(err)
	}
	if got := ViewVolume(written.(*corev1.PersistentVolume), owner); got.ClaimRef != action.After.ClaimRef || got.Policy != corev1.PersistentVolumeReclaimDelete || got.Note != (Note{}) || got.Fence != "" {
		t.Errorf("got %+v", got)
	}
	if _, err := Update(t.Context(), carrier.Giver, action); !apierrors.IsConflict(err) {
		t.Errorf("what has changed since is written: %v", err)
	}
}

// TestWritesThatFail: an error of either API server is returned, and so is an unknown verb.
func TestWritesThatFail(t *testing.T) {
	refused := errors.New("refused")
	reading, writing := clustertest.Failing(refused, "get"), clustertest.Failing(refused, "create", "patch")
	for name, tc := range map[string]struct {
		hooks clustertest.Hooks
		verbs []Verb
	}{
		"reads":  {reading, []Verb{CreateVolume, CreateClaim}},
		"writes": {writing, []Verb{Secure, Park, Point, CreateVolume, CreateClaim, MarkClaim}},
	} {
		t.Run(name, func(t *testing.T) {
			volume, claim := east()
			carrier := carrierOf(tc.hooks, volume, claim)
			for _, verb := range tc.verbs {
				action := create
				action.Verb, action.After.Fence = verb, fence
				if _, err := Apply(t.Context(), carrier, action, both); !errors.Is(err, refused) {
					t.Errorf("%s: got %v", verb, err)
				}
			}
		})
	}
	carrier := carrierOf(clustertest.Hooks{})
	if _, err := Apply(t.Context(), carrier, Action{Verb: "Shred"}, both); err == nil {
		t.Error("a verb that nobody knows is no error")
	}
}

// TestMadeAsJudged: the created volume is the one that was judged, whatever the giver's API server has answered
// since (S1).
func TestMadeAsJudged(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*corev1.CSIPersistentVolumeSource)
		refused string
	}{
		"S1 another handle": {func(s *corev1.CSIPersistentVolumeSource) { s.VolumeHandle = "of a victim" }, "another disk"},
		"S1 another driver": {func(s *corev1.CSIPersistentVolumeSource) { s.Driver = "another" }, "another disk"},
		"S1 a Secret elsewhere": {func(s *corev1.CSIPersistentVolumeSource) {
			s.NodePublishSecretRef = &corev1.SecretReference{Namespace: "kube-system", Name: "root"}
		}, "kube-system"},
	} {
		t.Run(name, func(t *testing.T) {
			volume, claim := east()
			volume.Spec.CSI = volume.Spec.CSI.DeepCopy()
			tc.change(volume.Spec.CSI)
			carrier := carrierOf(clustertest.Hooks{}, volume, claim)
			if _, err := Apply(t.Context(), carrier, create, both); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("got %v, want a conflict with %q", err, tc.refused)
			}
			var made corev1.PersistentVolumeList
			if err := carrier.Taker.List(t.Context(), &made); err != nil || len(made.Items) > 0 {
				t.Errorf("made %v, %v", made.Items, err)
			}
		})
	}
}

// TestParkedVolumeIsReadOnce: a volume that this process parked is not read again for the copy while it is the
// version that was judged. Another version is read.
func TestParkedVolumeIsReadOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.PersistentVolume)
		judged string
		reads  int
	}{
		"the version that was judged": {func(*corev1.PersistentVolume) {}, "1", 0},
		"a later version was judged":  {func(*corev1.PersistentVolume) {}, "2", 1},
		"none was judged":             {func(v *corev1.PersistentVolume) { v.ResourceVersion = "" }, "", 1},
		"another volume":              {func(v *corev1.PersistentVolume) { v.UID = "another" }, "1", 1},
		"a volume of another name":    {func(v *corev1.PersistentVolume) { v.Name = "another" }, "1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			volume, claim := east()
			reads := 0
			carrier := carrierOf(clustertest.Hooks{}, volume, claim)
			carrier.Giver = clustertest.Hooked(clustertest.Hooks{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				reads++
				return c.Get(ctx, key, object, options...)
			}}, volume, claim)
			known, _ := east()
			tc.change(known)
			carrier.Parked = known
			pair := both
			pair.Giver.Volume.UID, pair.Giver.Volume.ResourceVersion = "east-pv", tc.judged
			made, err := Apply(t.Context(), carrier, create, pair)
			if err != nil {
				t.Fatal(err)
			}
			if reads != tc.reads || made.GetName() != "pv" {
				t.Errorf("%d reads, want %d; made %+v", reads, tc.reads, made)
			}
		})
	}
	volume, claim := east()
	volume.Spec.ClaimRef.Name = "data-web-0"
	carrier := carrierOf(clustertest.Hooks{}, volume, claim)
	carrier.Parked = volume.DeepCopy()
	carrier.Parked.ResourceVersion = "7"
	pair := both
	pair.Giver.Volume.UID, pair.Giver.Volume.ResourceVersion = "east-pv", "7"
	if _, err := Apply(t.Context(), carrier, create, pair); !apierrors.IsConflict(err) {
		t.Errorf("one that is not parked is copied: %v", err)
	}
}
