package evacuate

import (
	"strconv"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/migration/berths"
)

// The orders of 1,000 sets whose costs are measured: each set waits for up to four others, in one of several waves.
const (
	manySets  = 1000
	manyWaves = 10
)

// BenchmarkForecast measures the forecast of 1,000 sets, which a screen shows again every other second.
func BenchmarkForecast(b *testing.B) {
	p := Progress{AtOnce: 40}
	for i := range manySets {
		m := Move{Name: named(strconv.Itoa(i)), Wave: int32(i * manyWaves / manySets), Total: 5, Planned: 5 * time.Minute}
		for k := range min(i, 4) {
			m.After = append(m.After, named(strconv.Itoa(i-1-k*k)))
		}
		p.Moves = append(p.Moves, m)
	}
	for b.Loop() {
		p.Of()
	}
}

// BenchmarkPlan measures the plan of 1,000 sets of five ordinals.
func BenchmarkPlan(b *testing.B) {
	i := Inventory{Limits: Limits{Limits: berths.Limits{Node: 4, Link: 64, StorageClass: 32}, Sets: 40}}
	for nth := range manySets {
		s := sized(strconv.Itoa(nth), 5, 100)
		s.Wave = int32(nth * manyWaves / manySets)
		for k := range min(nth, 4) {
			s.Uses = append(s.Uses, Use{Set: named(strconv.Itoa(nth - 1 - k*k)), Where: "env X"})
		}
		for k := range s.Ordinals {
			s.Ordinals[k].Node = strconv.Itoa((nth + k) % 100)
		}
		i.Sets = append(i.Sets, s)
	}
	for nth := range 100 {
		n := node(strconv.Itoa(nth), 16000, 100)
		n.Free.Pods, n.Free.Memory = 110, 1<<37
		i.Destination.Nodes = append(i.Destination.Nodes, n)
	}
	for b.Loop() {
		Of(i)
	}
}
