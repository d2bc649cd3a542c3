package berths

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// TestNeverTooMany: for any load, a handoff that fits exceeds no limit.
func TestNeverTooMany(t *testing.T) {
	some := rapid.Custom(func(t *rapid.T) Berth {
		b := Berth{Clusters: [2]types.UID{"id-east", "id-west"}}
		b.Migration = types.NamespacedName{Namespace: "shop", Name: rapid.StringMatching("[a-f]").Draw(t, "name")}
		b.Cluster, b.Node = "id-east", rapid.SampledFrom([]string{"", "n1", "n2"}).Draw(t, "node")
		b.StorageClasses = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"fast", "slow"}), 0, 2, rapid.ID).Draw(t, "classes")
		if rapid.Bool().Draw(t, "elsewhere") {
			b.Cluster, b.Clusters = "id-north", [2]types.UID{"id-north", "id-west"}
		}
		return b
	})
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 3)
		load := &Load{Limits: Limits{limit.Draw(t, "node"), limit.Draw(t, "link"), limit.Draw(t, "class")}}
		used := map[string]int{}
		for _, b := range rapid.SliceOfN(some, 0, 12).Draw(t, "all") {
			if !load.Fits(b) {
				continue
			}
			load.Others = append(load.Others, b)
			if b.Node != "" {
				used["node "+string(b.Cluster)+b.Node]++
			}
			used["link "+string(b.Clusters[0])+string(b.Clusters[1])]++
			for _, class := range b.StorageClasses {
				used["class "+string(b.Cluster)+class]++
			}
		}
		for what, n := range used {
			kind, _, _ := strings.Cut(what, " ")
			if most := map[string]int{"node": load.Node, "link": load.Link, "class": load.StorageClass}[kind]; most > 0 && n > most {
				t.Fatalf("%s is used %d times, at most %d", what, n, most)
			}
		}
	})
}
