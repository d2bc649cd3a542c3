package evacuation

import (
	"strconv"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// hundreds returns 1,000 Migrations that wait, each in an order of its own.
func hundreds(order func(i int, entry *api.EvacuatedMigration)) Snapshot {
	s := Snapshot{Name: "all", Migrations: map[string]Migration{}}
	for i := range 1000 {
		entry := api.EvacuatedMigration{Name: strconv.Itoa(i)}
		order(i, &entry)
		s.Spec.Migrations = append(s.Spec.Migrations, entry)
		s.Migrations[entry.Name] = held()
	}
	return s
}

// BenchmarkDecide measures a pass over 1,000 Migrations. Each begin of one of them is a pass.
func BenchmarkDecide(b *testing.B) {
	for name, order := range map[string]func(i int, entry *api.EvacuatedMigration){
		"no order":                    func(int, *api.EvacuatedMigration) {},
		"two waves":                   func(i int, entry *api.EvacuatedMigration) { entry.Wave = int32(i / 500) },
		"many waves":                  func(i int, entry *api.EvacuatedMigration) { entry.Wave = int32(i) },
		"waves in the opposite order": func(i int, entry *api.EvacuatedMigration) { entry.Wave = int32(1000 - i) },
		"a chain": func(i int, entry *api.EvacuatedMigration) {
			if i > 0 {
				entry.After = []string{strconv.Itoa(i - 1)}
			}
		},
		"hundreds of dependencies each": func(i int, entry *api.EvacuatedMigration) {
			for k := max(0, i-200); k < i; k++ {
				entry.After = append(entry.After, strconv.Itoa(k))
			}
		},
		"a circle through waves": func(i int, entry *api.EvacuatedMigration) {
			if entry.Wave = int32(i / 500); i < 500 {
				entry.After = []string{strconv.Itoa(500 + i)}
			}
		},
	} {
		s := hundreds(order)
		for i := range 100 {
			s.Migrations[strconv.Itoa(i)] = moved
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Decide(s)
			}
		})
	}
}
