package volumes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// anyState returns a random state, and the PersistentVolume of a cluster in it.
func anyState(t *rapid.T, label string) (State, *corev1.PersistentVolume) {
	word := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	s := State{
		Policy:   corev1.PersistentVolumeReclaimPolicy(word("Retain", "Delete")),
		ClaimRef: Ref{Namespace: word("east", "west"), Name: word("data-web-0", "data-web-0_parked", "out"), UID: types.UID(word("", "u", "v"))},
		Fence:    word("", "m.1", "m.2"), Released: word("", "m.1"), Seal: word("", "root"), There: word("", "pv-2"),
	}
	if by := word("", "m", "another"); by != "" {
		s.Note = Note{Policy: corev1.PersistentVolumeReclaimPolicy(word("Retain", "Delete")), By: types.UID(by)}
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", UID: "pv", ResourceVersion: "1", Annotations: map[string]string{"theirs": "kept", boundByController: "yes"}}}
	for key, value := range map[string]string{
		api.FenceAnnotationKey: s.Fence, api.ReleasedAnnotationKey: s.Released, api.SealAnnotationKey: s.Seal, api.VolumeThereAnnotationKey: s.There,
		api.OriginalReclaimPolicyAnnotationKey: s.Note.annotation(),
	} {
		if value != "" {
			volume.Annotations[key] = value
		}
	}
	volume.Spec.PersistentVolumeReclaimPolicy = s.Policy
	volume.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: s.ClaimRef.Namespace, Name: s.ClaimRef.Name, UID: s.ClaimRef.UID, ResourceVersion: "7"}
	return s, volume
}

// TestEncode: an update from one state to another makes the other state of an object in the first, and nothing else. It
// is refused only between equal states. A claimRef that is written carries no resourceVersion, and the binder does not
// take it for its own (I2).
func TestEncode(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		before, volume := anyState(t, "before")
		after, _ := anyState(t, "after")
		was := ViewVolume(volume, owner)
		written, err := Update(ctx, clustertest.New(volume), change(Park, was, func(s *State) { *s = after }))
		if before == after {
			if err == nil {
				t.Fatal("an empty write")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := written.(*corev1.PersistentVolume)
		chosen := cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Chosen" || p.String() == "ResourceVersion" }, cmp.Ignore())
		if diff := cmp.Diff(was.In(after), ViewVolume(got, owner), chosen); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
		_, bound := got.Annotations[boundByController]
		if repointed := before.ClaimRef != after.ClaimRef; bound == repointed || repointed != (got.Spec.ClaimRef.ResourceVersion == "") || got.Annotations["theirs"] != "kept" {
			t.Fatalf("from %+v to %+v: %+v", before, after, got)
		}
	})
}

// TestContentIn: a content retains its snapshot, or has another policy, and keeps the note.
func TestContentIn(t *testing.T) {
	note := Note{Policy: corev1.PersistentVolumeReclaimDelete, By: owner}
	for _, retain := range []bool{false, true} {
		c := SnapshotContent{Name: "content", Retain: retain, Note: note}
		if got := (SnapshotContent{Name: "content"}).In(c.State()); got.Retain != retain || got.Note != note {
			t.Errorf("%+v", got)
		}
	}
}
