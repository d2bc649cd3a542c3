package config

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestTimesThatMayBeAbsent: a zero time is null in JSON, and the API server rejects null for a required field. A struct
// that is omitted while it is zero, and gets its fields one by one, therefore has no required time. Trouble before the
// first warm pass of a copy could not be stored, and the move stalled for ever.
func TestTimesThatMayBeAbsent(t *testing.T) {
	type place struct {
		of      reflect.Type
		partial bool
	}
	seen := map[place]bool{{reflect.TypeFor[api.CopyTorn](), true}: true} // it is written as a whole
	var look func(of reflect.Type, partial bool)
	look = func(of reflect.Type, partial bool) {
		of = element(of)
		if of.Kind() != reflect.Struct || seen[place{of, partial}] || !strings.Contains(of.PkgPath(), "sliceshift") {
			return
		}
		seen[place{of, partial}] = true
		for field := range of.Fields() {
			tag := field.Tag.Get("json")
			time := field.Type == reflect.TypeFor[metav1.Time]() || field.Type == reflect.TypeFor[metav1.MicroTime]()
			if time && partial && !strings.Contains(tag, "omitzero") {
				t.Errorf("%s.%s is required, and null while it is not set", of.Name(), field.Name)
			}
			look(field.Type, strings.Contains(tag, "omitzero"))
		}
	}
	look(reflect.TypeFor[api.MigrationStatus](), false)
	look(reflect.TypeFor[api.EvacuationStatus](), false)
}
