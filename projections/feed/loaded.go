package feed

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// use returns a campaign, loaded or not, and keeps it from being let go until it
// is released.
func (h *Hub) use(ctx context.Context, id string) (*campaign, error) {
	if err := h.usable(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.campaigns[id]
	if c == nil {
		c = newCampaign(h, id)
		c.element = h.idle.PushFront(c)
		h.campaigns[id] = c
		h.held.Add(CampaignBytes)
	}
	c.users++
	return c, nil
}

// release ends a use. One on somebody's behalf makes the campaign the last that
// the budget will let go; following along does not.
func (h *Hub) release(c *campaign, asked bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.users--
	if asked {
		h.idle.MoveToFront(c.element)
	}
	if c.users == 0 && c.records.Load() == 0 {
		h.drop(c) // there is no such campaign
	}
	for e := h.idle.Back(); e != nil && h.held.Load() > h.budget; {
		c := e.Value.(*campaign)
		e = e.Prev()
		if c.users == 0 {
			h.drop(c)
		}
	}
}

// drop lets go of a campaign that nobody uses. The caller has the hub's lock.
func (h *Hub) drop(c *campaign) {
	delete(h.campaigns, c.id)
	h.idle.Remove(c.element)
	h.held.Add(-CampaignBytes - c.records.Load()*RecordBytes)
}

// stop remembers that a campaign's views stopped, also when it is let go.
func (h *Hub) stop(e *StoppedError) {
	h.stopMu.Lock()
	defer h.stopMu.Unlock()
	h.stopped[e.Campaign] = e
}

// resume forgets it.
func (h *Hub) resume(id string) {
	h.stopMu.Lock()
	defer h.stopMu.Unlock()
	delete(h.stopped, id)
}

func (h *Hub) stops() []*StoppedError {
	h.stopMu.Lock()
	defer h.stopMu.Unlock()
	return slices.SortedFunc(maps.Values(h.stopped), func(a, b *StoppedError) int { return cmp.Compare(a.Campaign, b.Campaign) })
}
