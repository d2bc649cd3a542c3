package execute

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestUnsettled: a write is settled if it succeeded, or if the API server refused it. The effect of any other error is
// unknown.
func TestUnsettled(t *testing.T) {
	answered := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code}}
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"made": {nil, false}, "400": {answered(http.StatusBadRequest), false}, "499": {answered(499), false},
		"399": {answered(399), true}, "500": {answered(http.StatusInternalServerError), true}, "503": {answered(503), true},
		"no answer": {errors.New("reset"), true}, "two refused": {errors.Join(answered(403), answered(409)), false},
		"one of two": {errors.Join(answered(403), errors.New("reset")), true},
	} {
		if got := Unsettled(tc.err); got != tc.want {
			t.Errorf("%s: unsettled %t", name, got)
		}
	}
}
