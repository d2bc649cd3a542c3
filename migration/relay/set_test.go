package relay

import (
	"context"
	"errors"
	"testing"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestSet: the wanted relays run, each once. Relays of ordinals that a call does not cover continue.
func TestSet(t *testing.T) {
	dialled, ended := make(chan string, 100), make(chan string, 100)
	s := NewSet(func(end plan.RelayEnd) Dial {
		return func(ctx context.Context) (Conn, error) {
			dialled <- end.Name
			<-ctx.Done()
			ended <- end.Name
			return nil, errors.New("over")
		}
	}, Options{})
	defer s.Close()
	of := func(ordinal int32, sender string) plan.Relay {
		return plan.Relay{Ordinal: ordinal, Template: "data", Sender: plan.RelayEnd{Name: sender}}
	}
	all := func(int32) bool { return true }
	s.Keep([]plan.Relay{of(2, "web-2"), of(1, "web-1")}, all)
	s.Keep([]plan.Relay{of(2, "web-2"), of(1, "web-1")}, all)
	began := map[string]int{<-dialled: 1, <-dialled: 1}
	if len(began) != 2 {
		t.Errorf("began: %v", began)
	}
	s.Keep(nil, func(ordinal int32) bool { return ordinal == 2 })
	if got := <-ended; got != "web-2" {
		t.Errorf("%s has ended", got)
	}
	s.Keep([]plan.Relay{of(1, "another web-1")}, all)
	if got := <-ended; got != "web-1" {
		t.Errorf("%s has ended", got)
	}
	if got := <-dialled; got != "another web-1" {
		t.Errorf("%s has begun", got)
	}
	s.Close()
	if got := <-ended; got != "another web-1" || len(dialled) > 0 {
		t.Errorf("%s has ended, and %d more have begun", got, len(dialled))
	}
}
