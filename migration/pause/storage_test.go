package pause

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestStorages: an operator either accepts changed claim templates after a pause, and can be paused, or has its own way.
func TestStorages(t *testing.T) {
	for _, each := range Storages {
		if (each.Field == "") == (each.Own == "") || !strings.HasPrefix(each.Source, "https://") {
			t.Errorf("%s: %+v", each.GroupKind, each)
		}
		if each.Field != "" && Of(each.Group) == nil {
			t.Errorf("%s cannot be paused", each.GroupKind)
		}
		if got := StorageOf(each.GroupKind); got != each {
			t.Errorf("%s: %+v", each.GroupKind, got)
		}
	}
	if got := StorageOf(schema.GroupKind{Group: "rabbitmq.com", Kind: "Queue"}); got != (Storage{}) {
		t.Errorf("another kind: %+v", got)
	}
}
