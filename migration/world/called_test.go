package world

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// ofDisk returns a volume of a disk, with an annotation for its name on the other side.
func ofDisk(name, handle, there string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi", VolumeHandle: handle}
	if there != "" {
		volume.Annotations = map[string]string{api.VolumeThereAnnotationKey: there}
	}
	return volume
}

// claiming returns a claim of ordinal 2 that references a volume.
func claiming(volume string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-2"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
}

// TestP17AlsoNamed: another name is read if a different disk has the volume's own name there, if one is recorded in
// the annotation, and if the recorded volume does not exist any more. Each name is read once.
func TestP17AlsoNamed(t *testing.T) {
	digest := volumes.Disk(volumes.Handle(ofDisk("pv", "h", "")))
	other := volumes.OtherName("pv", digest)
	own, foreign := ofDisk("pv", "h", ""), ofDisk("pv", "foreign", "")
	type side struct {
		claimed string
		volumes []*corev1.PersistentVolume
	}
	has := func(claimed string, all ...*corev1.PersistentVolume) side { return side{claimed, all} }
	recorded := api.HandoffVolume{Name: "pv", Disk: digest}
	for name, tc := range map[string]struct {
		source, destination side
		recorded            api.HandoffVolume
		read, want          []string
	}{
		"nothing is there":                  {source: has("pv", own), read: []string{"pv"}},
		"another disk has the name":         {source: has("pv", own), destination: has("", foreign), read: []string{"pv"}, want: []string{other}},
		"it is read":                        {source: has("pv", own), destination: has("", foreign), read: []string{"pv", other}},
		"a name is noted":                   {source: has("pv", ofDisk("pv", "h", "noted")), read: []string{"pv"}, want: []string{"noted"}},
		"noted at the destination":          {destination: has(other, ofDisk(other, "h", "pv")), read: []string{other}, want: []string{"pv"}},
		"recorded, and deleted since":       {recorded: recorded, read: []string{"pv"}, want: []string{other}},
		"recorded, and its disk is unknown": {recorded: api.HandoffVolume{Name: "pv"}, read: []string{"pv"}},
		"recorded, and there":               {source: has("", own), recorded: recorded, read: []string{"pv"}},
		"of no claim, and not recorded":     {source: has("", own), destination: has("", foreign), read: []string{"pv"}},
	} {
		t.Run(name, func(t *testing.T) {
			shownBy := func(at endpoint.Endpoint, s side) *observed {
				f := &observed{endpoint: at, owner: "m", recorded: []api.HandoffVolume{tc.recorded}, volumes: map[string]*corev1.PersistentVolume{}}
				f.claims = map[string]*corev1.PersistentVolumeClaim{"data-web-2": claiming(s.claimed)}
				for _, volume := range s.volumes {
					f.volumes[volume.Name] = volume
				}
				return f
			}
			source, destination := shownBy(endpointtest.Source(nil), tc.source), shownBy(endpointtest.Destination(nil), tc.destination)
			if diff := cmp.Diff(tc.want, alsoNamed(source, destination, tc.read), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			destination.endpoint.ID = source.endpoint.ID
			if more := alsoNamed(source, destination, tc.read); len(more) > 0 {
				t.Errorf("within one cluster: %v", more)
			}
		})
	}
}

// TestP17OneCluster: within one cluster it is one volume, whatever the annotation of another volume that a claim
// references.
func TestP17OneCluster(t *testing.T) {
	source, destination := &observed{endpoint: endpointtest.Source(nil)}, &observed{endpoint: endpointtest.Destination(nil)}
	destination.endpoint.ID = source.endpoint.ID
	for f, claimed := range map[*observed]string{source: "pv", destination: "made"} {
		f.volumes = map[string]*corev1.PersistentVolume{"pv": ofDisk("pv", "h", ""), "made": ofDisk("made", "h", "pv")}
		f.claims = map[string]*corev1.PersistentVolumeClaim{"data-web-2": claiming(claimed)}
	}
	if here, there := calledOn(source, destination, api.HandoffVolume{}, 2, "data"); here != "pv" || there != "pv" {
		t.Errorf("it is called %s and %s", here, there)
	}
}

// TestP17IsNoTwin: the volume of a disk under its other name there is no twin, and a third volume is.
func TestP17IsNoTwin(t *testing.T) {
	own, foreign := ofDisk("pv", "h", ""), ofDisk("pv", "foreign", "")
	other := volumes.OtherName("pv", volumes.Disk(volumes.Handle(own)))
	for twin, want := range map[string]map[string]string{"": {}, "third": {"pv": "third"}} {
		there := map[string]*corev1.PersistentVolume{"pv": foreign, other: ofDisk(other, "h", "")}
		if twin != "" {
			there[twin] = ofDisk(twin, "h", "")
		}
		builder := fake.NewClientBuilder().WithScheme(testScheme)
		for _, index := range clusters.Indexes() {
			builder = builder.WithIndex(index.Object, index.Field, index.Values)
		}
		for _, volume := range there {
			builder = builder.WithObjects(volume)
		}
		f := &observed{endpoint: endpointtest.Destination(nil), owner: "m", volumes: there}
		f.endpoint.Cached = builder.Build()
		if err := f.readDuplicates(t.Context(), volumes.Policy{}, map[string]*corev1.PersistentVolume{"pv": own}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, f.duplicateHandles); diff != "" {
			t.Errorf("with %q: -want +got\n%s", twin, diff)
		}
	}
}

// TestP17NamesEndless: if a cluster returns a new name in the annotation with every read, the reads are bounded: one
// for the volume, and one for each name that it may have.
func TestP17NamesEndless(t *testing.T) {
	const endless = 20 // more reads than this mean that there is no bound
	var reads atomic.Int32
	lying := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		err := c.Get(ctx, key, object, options...)
		if _, is := object.(*corev1.PersistentVolume); !is || key.Name != "pv" {
			return err
		}
		asked := reads.Add(1)
		object.SetAnnotations(map[string]string{api.VolumeThereAnnotationKey: fmt.Sprintf("pv-%d", asked)})
		if asked == endless {
			return errors.New("it is asked without an end")
		}
		return err
	}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	here := fake.NewClientBuilder().WithScheme(testScheme).WithInterceptorFuncs(lying).WithObjects(set, claiming("pv"), ofDisk("pv", "h", "")).Build()
	there := fake.NewClientBuilder().WithScheme(testScheme).Build()
	source, destination := &observed{endpoint: endpointtest.Source(here)}, &observed{endpoint: endpointtest.Destination(there)}
	source.set = set
	readLive(t.Context(), source, destination, planner.Reads{Ordinal: new(int32(2)), Volumes: true})
	if err := errors.Join(source.err, destination.err); err != nil {
		t.Error(err)
	}
	if got := reads.Load(); got != 1+mostNames {
		t.Errorf("the volume was read %d times", got)
	}
}
