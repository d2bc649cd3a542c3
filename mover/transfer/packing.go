package transfer

import "time"

// packing decides whether content is packed before it is sent, which pays if the content then arrives earlier.
// It measures how fast one connection packs and sends, and how small content becomes.
type packing struct {
	packRate, sendRate float64 // bytes a second
	ratio              float64 // packed size by size
	seen               int     // frames since the last trial
}

const (
	// trial is the number of frames after which packing is tried again if it did not pay.
	trial = 32
	// weight is how much the newest measurement counts.
	weight = 0.25
	// worth is the least that packing must save, as a fraction of the content.
	worth = 0.03
)

// wanted reports whether the next frame is packed.
func (p *packing) wanted() bool {
	p.seen++
	if p.packRate == 0 || p.seen >= trial {
		p.seen = 0
		return true
	}
	return p.pays()
}

// pays compares the time for a byte with and without packing.
func (p *packing) pays() bool {
	if p.ratio > 1-worth {
		return false
	}
	if p.sendRate == 0 {
		return true
	}
	return 1/p.packRate+p.ratio/p.sendRate < 1/p.sendRate
}

func (p *packing) packed(from, to int, took time.Duration) {
	p.packRate = blend(p.packRate, float64(from)/max(took.Seconds(), 1e-9))
	p.ratio = blend(p.ratio, float64(to)/float64(from))
}

func (p *packing) sent(n int, took time.Duration) {
	p.sendRate = blend(p.sendRate, float64(n)/max(took.Seconds(), 1e-9))
}

func blend(old, now float64) float64 {
	if old == 0 {
		return now
	}
	return old + weight*(now-old)
}
