package auditor

import (
	"testing"

	"k8s.io/client-go/rest"
)

func TestOptions(t *testing.T) {
	good := Side{Config: &rest.Config{}, Namespace: "shop", Set: "web"}
	cases := map[string]struct {
		options Options
		wantErr string
	}{
		"complete":        {Options{Source: good, Destination: good}, ""},
		"no destination":  {Options{Source: good}, "destination: config, namespace and set are required"},
		"negative budget": {Options{Source: good, Destination: good, Budget: -1}, "budget is -1, must not be negative"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.options.complete()
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != tc.wantErr {
				t.Fatalf("got error %q, want %q", text, tc.wantErr)
			}
			if got.Source.Name != "source" || got.Source.Resource.Resource != "statefulsets" || got.Clock == nil || got.CheckTimeout != DefaultCheckTimeout {
				t.Errorf("defaults are missing in %+v", got)
			}
		})
	}
}
