package clusters

import (
	"net/http"
	"testing"
)

type unlimited struct{}

func (unlimited) take(int64) bool { return true }
func (unlimited) give(int64)      {}

// TestWeighableAnswers: with a limited allowance no request accepts protobuf, which a metadata client asks for first.
func TestWeighableAnswers(t *testing.T) {
	const (
		metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
		inJSON   = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	)
	for name, tc := range map[string]struct {
		bounded      bool
		accept, want string
	}{
		"metadata":              {true, metadata, inJSON},
		"nothing is bounded":    {false, metadata, metadata},
		"JSON":                  {true, inJSON, inJSON},
		"nothing but protobuf":  {true, protobufType, protobufType},
		"nothing in particular": {true, "", ""},
	} {
		g := &guard{}
		if tc.bounded {
			g.allowance = unlimited{}
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://west/api/v1/nodes", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", tc.accept)
		if got := g.weighable(req).Header.Get("Accept"); got != tc.want || req.Header.Get("Accept") != tc.accept {
			t.Errorf("%s: asked for %q, want %q", name, got, tc.want)
		}
	}
}
