package judge

import "testing"

func TestOrdinalOf(t *testing.T) {
	cases := map[string]struct {
		pod    string
		want   int32
		wantOK bool
	}{
		"an ordinal":         {"web-12", 12, true},
		"zero":               {"web-0", 0, true},
		"another set":        {"webshop-1", 0, false},
		"a longer set":       {"web-canary-1", 0, false},
		"leading zero":       {"web-01", 0, false},
		"a sign":             {"web-+1", 0, false},
		"negative":           {"web--1", 0, false},
		"beyond int32":       {"web-4294967296", 0, false},
		"nothing":            {"web-", 0, false},
		"a deployment's pod": {"web-7d4b9c-x2x", 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := OrdinalOf(tc.pod, "web")
			if got != tc.want || ok != tc.wantOK {
				t.Errorf("got %d, %t, want %d, %t", got, ok, tc.want, tc.wantOK)
			}
		})
	}
}

func TestVolumeKeyOf(t *testing.T) {
	cases := map[string]struct {
		claim  string
		want   VolumeKey
		wantOK bool
	}{
		"a claim":                {"data-web-3", VolumeKey{3, "data"}, true},
		"a template with a dash": {"wal-log-web-3", VolumeKey{3, "wal-log"}, true},
		"another template":       {"tmp-web-3", VolumeKey{}, false},
		"another set":            {"data-my-web-3", VolumeKey{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := VolumeKeyOf(tc.claim, "web", []string{"data", "wal-log"})
			if got != tc.want || ok != tc.wantOK {
				t.Errorf("got %v, %t, want %v, %t", got, ok, tc.want, tc.wantOK)
			}
			if ok && got.ClaimName("web") != tc.claim {
				t.Errorf("the way back gives %q", got.ClaimName("web"))
			}
		})
	}
}
