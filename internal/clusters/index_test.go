package clusters

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSetsOfNames: an object belongs to each set whose name its own name may contain.
func TestSetsOfNames(t *testing.T) {
	for name, want := range map[string][]string{
		"data-web-0": {"web"}, "data-web-10": {"web"}, "my-data-web-0": {"data-web", "web"}, "data-a-web-1-3": {"a-web-1", "web-1", "1"},
		"data-web-0_parked": {"web"}, "web-0": nil, "data-web": nil, "data-web-": nil, "0": nil, "": nil, "-web-0": {"web"}, "data-web-0x": nil,
	} {
		if diff := cmp.Diff(want, setsOfClaim(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for name, want := range map[string]string{"web-0": "web", "web-1-10": "web-1", "web": "", "web-": "", "-0": "", "10": "", "web0": ""} {
		if got := setOf(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestIndexWeights: the index entries of an object use no more memory than is charged for them, with any names (S3).
func TestIndexWeights(t *testing.T) {
	const many = 500
	claims := func(name func(int) string) (all []client.Object) {
		for i := range many {
			all = append(all, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name(i)}})
		}
		return all
	}
	for name, objects := range map[string][]client.Object{
		"of one set":   claims(func(i int) string { return fmt.Sprintf("data-web-%d", i) }),
		"of many sets": claims(func(i int) string { return fmt.Sprintf("data-web%dx-0", i) }),
		"of dashes":    claims(func(i int) string { return strings.Repeat("a-", 100) + fmt.Sprintf("%dx-0", i) }),
	} {
		t.Run(name, func(t *testing.T) {
			var booked int64
			for _, object := range objects {
				booked += weightIndexed(object)
			}
			// A cache of controller-runtime indexes a field in the same way: by namespace, and for all namespaces.
			index := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{SetField: func(object any) ([]string, error) {
				claim, _ := object.(*corev1.PersistentVolumeClaim)
				var values []string
				for _, set := range setsOf(claim) {
					values = append(values, claim.Namespace+"/"+set, "__all_namespaces/"+set)
				}
				return values, nil
			}})
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for _, object := range objects {
				if err := index.Add(object); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); booked < took {
				t.Errorf("%d bytes are booked, and %d taken", booked, took)
			}
			runtime.KeepAlive(index)
			runtime.KeepAlive(objects)
		})
	}
}
