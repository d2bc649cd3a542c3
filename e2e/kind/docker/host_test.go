package docker

import "testing"

func TestBoundingSet(t *testing.T) {
	for name, tc := range map[string]struct {
		status      string
		wantMissing bool
		wantErr     bool
	}{
		"everything":           {status: "CapEff:\t0\nCapBnd:\t000001ffffffffff\nCapAmb:\t0\n"},
		"without SYS_RESOURCE": {status: "CapBnd:\t000001fffeffffff\n", wantMissing: true},
		"no such line":         {status: "CapEff:\t0\n", wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			bounds, err := boundingSet(tc.status)
			if (err != nil) != tc.wantErr {
				t.Fatalf("error %v, want one: %t", err, tc.wantErr)
			}
			if missing := bounds&(1<<capSysResource) == 0; err == nil && missing != tc.wantMissing {
				t.Errorf("CAP_SYS_RESOURCE missing: %t, want %t", missing, tc.wantMissing)
			}
		})
	}
}
