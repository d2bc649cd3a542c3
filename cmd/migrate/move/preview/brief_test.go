package preview

import "testing"

// TestBrief: only the name of a volume is replaced, by its claim template.
func TestBrief(t *testing.T) {
	for name, tc := range map[string]struct{ action, volume, template, want string }{
		"a volume":              {"park volume pv-1 on the source", "pv-1", "data", "park volume data on the source"},
		"of a claim":            {"create claim shop/data-web-1 on the destination on volume pv-1", "pv-1", "data", "create claim shop/data-web-1 on the destination on volume data"},
		"a part of other words": {"park volume data on the source for data-web-1", "data", "log", "park volume log on the source for data-web-1"},
		"of no template":        {"park volume pv-1 on the source", "pv-1", "", "park volume pv-1 on the source"},
		"of no volume":          {"stop ordinal 1 on the source", "", "data", "stop ordinal 1 on the source"},
	} {
		if got := Brief(tc.action, tc.volume, tc.template); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
