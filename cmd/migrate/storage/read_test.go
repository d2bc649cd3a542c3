package storage

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/workload"
)

// paged is a cluster that answers with one object a page.
type paged struct {
	client.Reader
	sets    []appsv1.StatefulSet
	claims  []corev1.PersistentVolumeClaim
	volumes []corev1.PersistentVolume
	lists   int
}

func (p *paged) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	if _, classes := list.(*storagev1.StorageClassList); classes {
		return nil
	}
	p.lists++
	if asked.Limit != sets.PageSize {
		return fmt.Errorf("a list of %T without a limit", list)
	}
	at := 0
	if asked.Continue != "" {
		at, _ = strconv.Atoi(asked.Continue)
	}
	count := 0
	switch list := list.(type) {
	case *appsv1.StatefulSetList:
		list.Items, count = append(list.Items, p.sets[at]), len(p.sets)
	case *corev1.PersistentVolumeClaimList:
		list.Items, count = append(list.Items, p.claims[at]), len(p.claims)
	case *corev1.PersistentVolumeList:
		list.Items, count = append(list.Items, p.volumes[at]), len(p.volumes)
	}
	if at+1 < count {
		list.SetContinue(strconv.Itoa(at + 1))
	}
	return nil
}

// TestPages: lists are read page by page. Each claim gets its template, its volume and its ordinal, also where two sets have
// a claim of the same name. Claims that are being deleted, or whose name is of no set, are left out.
func TestPages(t *testing.T) {
	p := &paged{sets: []appsv1.StatefulSet{*native("shop", "web", template("data", "fast", "1Gi"), template("data-a", "fast", "1Gi")), *native("shop", "a-web", template("data", "fast", "1Gi"))}}
	for ordinal := range fewVolumes + 5 {
		c := bound("shop", "web", ordinal, template("data", "fast", "1Gi"))
		p.claims, p.volumes = append(p.claims, *c), append(p.volumes, *volumeOf(c))
	}
	both, leaving := bound("shop", "a-web", 3, template("data", "fast", "1Gi")), bound("shop", "web", 99, template("data", "fast", "1Gi"))
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	p.claims = append(p.claims, *both, *leaving)
	for _, name := range []string{"data-web-01", "data-web-x", "data-web-", "data", "other-web-0"} {
		stranger := bound("shop", "web", 0, template("data", "fast", "1Gi"))
		stranger.Name = name
		p.claims = append(p.claims, *stranger)
	}
	r := &reader{Reader: sets.Reader{Reader: p, Scheme: clusters.NewScheme(), Serves: func(_ context.Context, object client.Object) (bool, error) {
		_, is := object.(*appsv1.StatefulSet)
		return is, nil
	}}}
	got, err := r.read(t.Context(), sets.Scope{Namespace: "shop", Selector: labels.Everything()})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.sets) != 2 || got.sets[0].kind != (workload.Native{}) || len(got.sets[0].claims) != fewVolumes+6 || len(got.sets[1].claims) != 1 {
		t.Fatalf("%d sets: %+v", len(got.sets), got.sets)
	}
	for i, c := range got.sets[0].claims[:fewVolumes+5] {
		if c.ordinal != int32(i) || c.Template.Name != "data" || c.Volume == nil || c.Volume.Name != c.Claim.Spec.VolumeName {
			t.Errorf("claim %d: ordinal %d of %s, volume %+v", i, c.ordinal, c.Template.Name, c.Volume)
		}
	}
	last, other := got.sets[0].claims[fewVolumes+5], got.sets[1].claims[0]
	if last.Template.Name != "data-a" || other.Template.Name != "data" || last.ordinal != 3 || other.ordinal != 3 {
		t.Errorf("the claim of two sets: %+v, %+v", last, other)
	}
	if want := len(p.sets) + len(p.claims) + len(p.volumes); p.lists != want {
		t.Errorf("%d lists, want %d", p.lists, want)
	}
}
