package decide_test

import (
	"github.com/sliceshift/sliceshift/slices/decide"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

func init() {
	*decide.Slice, *decide.PodsOf, *decide.Paused, *decide.SettledAt = slicetest.Slice, slicetest.PodsOf, slicetest.Paused, slicetest.SettledAt
	*decide.Partition, *decide.Surge, *decide.MinReady, *decide.By = slicetest.Partition, slicetest.Surge, slicetest.MinReady, slicetest.By
	*decide.NamedSet = slicetest.NamedSet
}
