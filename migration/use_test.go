package migration

import (
	"context"
	"slices"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/internal/clusters"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// lister is an API server that notes what is listed, and how.
type lister struct {
	mu    sync.Mutex
	lists []string
}

func (l *lister) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lists = append(l.lists, text)
}

func (l *lister) client(objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			said := client.ListOptions{}
			said.ApplyOptions(options)
			what := ""
			switch list.(type) {
			case *corev1.PodList:
				what = "pods"
			case *storagev1.VolumeAttachmentList:
				what = "attachments"
			}
			if said.Raw != nil && said.Raw.ResourceVersion != "" {
				what += " " + string(said.Raw.ResourceVersionMatch) + " " + said.Raw.ResourceVersion
			}
			l.note(what)
			defer l.note(what + " listed")
			return c.List(ctx, list, options...)
		},
	}).Build()
}

// TestUseIsLookedForLive: who uses a claim is looked for at the API server before its disk
// changes hands and before the ordinal starts, whatever its kind of volume: a watch may stand
// still. What is attached is looked for after the pods, where volumes can be attached (G6).
func TestUseIsLookedForLive(t *testing.T) {
	hostPath := corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}}
	const exact, weak = "pods", "pods NotOlderThan 7"
	for name, tc := range map[string]struct {
		effect Effect
		shared bool
		source corev1.PersistentVolumeSource
		want   []string
	}{
		"stop":                        {Effect{Verb: ScaleDown}, false, hostPath, []string{exact, exact + " listed"}},
		"park":                        {carries(volumes.Park), false, hostPath, []string{weak, weak + " listed"}},
		"park what is attached":       {carries(volumes.Park), false, csi, []string{weak, weak + " listed", "attachments", "attachments listed"}},
		"point":                       {carries(volumes.Point), false, hostPath, []string{exact, exact + " listed"}},
		"point what is attached":      {carries(volumes.Point), false, csi, []string{exact, exact + " listed", "attachments", "attachments listed"}},
		"start":                       {Effect{Verb: ScaleUp}, false, hostPath, []string{weak, weak + " listed"}},
		"point, within the cluster":   {carries(volumes.Point), true, hostPath, []string{exact, exact + " listed"}},
		"start, within the cluster":   {Effect{Verb: ScaleUp}, true, hostPath, []string{exact, exact + " listed"}},
		"secure":                      {carries(volumes.Secure), false, csi, nil},
		"what is made is of no use":   {carries(volumes.CreateVolume), false, csi, nil},
		"start what is attached here": {Effect{Verb: ScaleUp}, true, csi, []string{exact, exact + " listed", "attachments", "attachments listed"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.effect.Side, tc.effect.Ordinal = SourceSide, 2
			s := Snapshot{Spec: Spec{SameCluster: tc.shared}, Source: Side{Set: Set{Templates: []string{"data"}}}}
			sc := scopeOf(s, Decision{Effect: &tc.effect})
			l := &lister{}
			objects := []client.Object{
				&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}}},
				&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-2"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}},
				&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: tc.source}},
			}
			backup := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "backup"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-2"},
			}}}}}
			shown := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web-0", ResourceVersion: "7"}}, {ObjectMeta: metav1.ObjectMeta{Name: "web-1", ResourceVersion: "5"}}}
			source := &found{place: place{namespace: "shop", set: "web", live: l.client(append(objects, backup)...)}, pods: shown}
			destination := &found{place: place{namespace: "shop", set: "web", live: (&lister{}).client()}}
			readLive(t.Context(), source, destination, sc)
			if source.err != nil || destination.err != nil {
				t.Fatal(source.err, destination.err)
			}
			if !slices.Equal(l.lists, tc.want) {
				t.Errorf("listed %q, want %q", l.lists, tc.want)
			}
			users := holdingOf(&api.Migration{}, source, 2, "data", "pv").Claim.Users
			if seen := slices.Equal(users, []string{"backup"}); seen != (tc.want != nil) {
				t.Errorf("the claim's users are %q", users)
			}
		})
	}
}

func carries(verb volumes.Verb) Effect {
	return Effect{Verb: CarryVolume, Volume: volumes.Action{Verb: verb}}
}

// TestOwnPodIsReadExactly: a list that may be late does not hide the pod of the ordinal, nor
// bring back one that is gone (I1).
func TestOwnPodIsReadExactly(t *testing.T) {
	for name, tc := range map[string]struct {
		listed, got []client.Object
		want        int
	}{
		"it came after the list": {nil, []client.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-2"}}}, 1},
		"it is gone since":       {[]client.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-2"}}}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			late := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(tc.listed...).Build()
			live := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(tc.got...).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					return late.List(ctx, list, options...)
				},
			}).Build()
			f := &found{place: place{namespace: "shop", set: "web", live: live}}
			if err := f.readPods(t.Context(), scope{pods: true, users: true, ordinal: new(int32(2))}); err != nil {
				t.Fatal(err)
			}
			if len(f.pods) != tc.want {
				t.Errorf("got %d pods, want %d", len(f.pods), tc.want)
			}
		})
	}
}
