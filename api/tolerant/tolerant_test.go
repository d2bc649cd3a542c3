package tolerant

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type window struct {
	Name     string          `json:"name"`
	Duration metav1.Duration `json:"duration"`
}

type object struct {
	Metadata map[string]string `json:"metadata"`
	Spec     struct {
		Count   int32    `json:"count"`
		Windows []window `json:"windows"`
	} `json:"spec"`
	Status struct {
		Moved int64 `json:"moved"`
	} `json:"status"`
}

// TestK0Decode: values that do not fit are left out and listed, and all others are decoded.
func TestK0Decode(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
		// windows are the names of the decoded windows.
		windows []string
	}{
		"all fits":          {`{"spec":{"count":1,"windows":[{"name":"a","duration":"1h"}]}}`, nil, []string{"a"}},
		"a duration":        {`{"spec":{"count":1,"windows":[{"name":"a","duration":"1h"},{"name":"b","duration":"1d"}]}}`, []string{`spec.windows[1].duration "1d"`}, []string{"a", "b"}},
		"two fields":        {`{"spec":{"count":1e30,"windows":[{"name":7,"duration":"1h"}]}}`, []string{`spec.count 1e+30`, `spec.windows[0].name 7`}, []string{""}},
		"another type":      {`{"spec":{"count":1,"windows":"none"}}`, []string{`spec.windows "none"`}, nil},
		"an element":        {`{"spec":{"windows":[7,{"name":"b","duration":"1s"}]}}`, []string{`spec.windows[0] 7`}, []string{"", "b"}},
		"of the status too": {`{"status":{"moved":"all"},"spec":{"windows":[{"name":"a"}]}}`, []string{`status.moved "all"`}, []string{"a"}},
		"more than is named": {
			`{"spec":{"windows":[{"duration":"1d"},{"duration":"2d"},{"duration":"3d"},{"duration":"4d"},{"duration":"5d"},{"duration":"6d"}]},"metadata":{"name":"web"}}`,
			[]string{`spec.windows[0].duration "1d"`, `spec.windows[1].duration "2d"`, `spec.windows[2].duration "3d"`, `spec.windows[3].duration "4d"`, `spec {"windows"`},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got object
			faults, err := Decode([]byte(tc.text), &got)
			if err != nil {
				t.Fatal(err)
			}
			var said, windows []string
			for i, fault := range faults {
				text := fault.Field + " " + fault.Value
				if i < len(tc.want) && strings.HasPrefix(text, tc.want[i]) {
					text = tc.want[i]
				}
				said = append(said, text)
			}
			for _, w := range got.Spec.Windows {
				windows = append(windows, w.Name)
			}
			if diff := cmp.Diff(tc.want, said); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.windows, windows); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestK0DecodeNothing: a value that is no object of the type is an error, and its text in the error is short and printable.
func TestK0DecodeNothing(t *testing.T) {
	var got object
	if _, err := Decode([]byte(`{"spec":`), &got); err == nil {
		t.Error("half an object was decoded")
	}
	if _, err := Decode([]byte(`"\u001b]52;c;"`), &got); err == nil {
		t.Error("a text was decoded as an object")
	}
	faults, err := Decode([]byte(`{"spec":{"count":"`+"\u202e"+strings.Repeat("a", 1<<16)+`"}}`), &got)
	if err != nil || len(faults) != 1 || len(faults[0].String()) > 4*longest || strings.Contains(faults[0].String(), "\u202e") {
		t.Errorf("%v, %v", faults, err)
	}
}
